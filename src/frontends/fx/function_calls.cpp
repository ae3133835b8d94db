#include "frontends/fx/function_calls.h"

#include <algorithm>

#include "frontends/fx/plain_python.h"
#include "frontends/fx/spelling.h"

namespace qc::fx {
namespace {

void rename(NamedThings& named, std::string_view from, const char* to) {
  for (auto& [name, thing] : named) {
    if (name == from) name = to;
  }
}

/// Which of the call's targets these arguments mean: see Call::target.
std::string choose(const Call& call, const NamedThings& named) {
  std::string_view rest = call.target;
  while (true) {
    const size_t space = rest.find(' ');
    const std::string_view one = rest.substr(0, space);
    const size_t mark = one.find_first_of(":@%");
    if (mark == one.npos || one.substr(mark).starts_with("::")) return std::string(one);
    for (const auto& [name, thing] : named) {
      if (name != one.substr(0, mark)) continue;
      const bool meant = one[mark] == ':' || (one[mark] == '@' && thing.as<CellId>()) ||
                         (one[mark] == '%' && thing.as<Things>());
      if (meant) return std::string(one.substr(mark + 1));
    }
    rest.remove_prefix(space + 1);
  }
}

}  // namespace

Result<Thing> FunctionCalls::call(const DumpNode& node, const Loc& loc) {
  if (const auto overload = find_overload(node.target); overload && node.op == "call_function")
    return call(*overload, node, loc);
  Things args;
  for (const Item& item : node.args) {
    QC_ASSIGN(Thing thing, scope_.thing(item, loc));
    args.push_back(std::move(thing));
  }
  QC_ASSIGN(auto plain, plain_python(scope_, node, args, loc));
  if (plain) {
    const QuantParams* params = args.empty() ? nullptr : aten_.quantized().find(args[0]);
    if (params && node.target == "_operator.getitem") aten_.quantized().mark(*plain, *params);
    return *plain;
  }
  auto [name, in_place] = plain_spelling(node);
  if (name == "torch.einsum") return einsum(args, loc);
  const Call* call = find_call(name);
  if (!call)
    return error(Code::unsupported_op, loc, "{} with these arguments is not supported",
                 node.target);
  constexpr std::string_view kInPlace = "_operator.i";
  in_place = in_place || (name.starts_with(kInPlace) && name != "_operator.invert");
  NamedThings named;
  QC_TRY(bind(*call, node, args, named, in_place, loc));
  std::string target = choose(*call, named);
  choose_padding(target, named);
  if (target.ends_with(".other")) rename(named, "dim", "other");
  if (target.starts_with("split_with_sizes")) rename(named, "split_size", "split_sizes");
  const bool gives_codes = call->tells_codes();
  const QuantParams params = take_params(named);
  if (gives_codes && !params.given())
    return error(Code::unsupported, loc, "{} without scale and zero point", node.target);
  if (target == "mean.dim") {
    QC_ASSIGN(const auto pooled, aten_.spatial_mean(named, loc));
    if (pooled) return *pooled;
  }
  return aten_.call(target, named, {params, in_place, {call->lists, readers_.items(node.name)}},
                    loc);
}

/// A call of torch.ops, whose arguments have the names of the schema.
Result<Thing> FunctionCalls::call(const Overload& overload, const DumpNode& node, const Loc& loc) {
  if (!node.args.empty())
    return error(Code::format, loc, "arguments of {} that have no names", node.target);
  NamedThings named;
  for (const auto& [name, item] : node.kwargs) {
    QC_ASSIGN(Thing thing, scope_.thing(item, loc));
    if (!thing.none()) named.emplace_back(name, std::move(thing));
  }
  if (overload.is_size()) {
    DumpNode size;
    size.name = node.name;
    size.op = "call_method";
    size.target = "size";
    Things args;
    for (auto& [name, thing] : named) args.push_back(std::move(thing));
    QC_ASSIGN(auto dim, plain_python(scope_, size, args, loc));
    if (!dim) return error(Code::format, loc, "the size of what is no tensor");
    return *dim;
  }
  if (overload.op == "mean.dim") {
    QC_ASSIGN(const auto pooled, aten_.spatial_mean(named, loc));
    if (pooled) return *pooled;
  }
  return aten_.call(overload.target(), named,
                    {{}, overload.in_place, {node.returns_list, readers_.items(node.name)}}, loc);
}

Result<Thing> FunctionCalls::einsum(const Things& args, const Loc& loc) {
  if (args.size() < 2 || !args[0].as<std::string>())
    return error(Code::unsupported, loc, "einsum without an equation in text");
  const Things* listed = args[1].as<Things>();
  Things tensors = listed ? *listed : Things(args.begin() + 1, args.end());
  return scope_.call("einsum.default",
                     {{"equation", args[0]}, {"tensors", Thing{std::move(tensors)}}}, {}, loc);
}

/// Positional and keyword arguments by the names of the ATen op.
Result<Ok> FunctionCalls::bind(const Call& call, const DumpNode& node, const Things& args,
                               NamedThings& named, bool& in_place, const Loc& loc) const {
  size_t at = 0;
  const auto take = [&](const Parameter& p, Thing thing) {
    if (p.in_place) {
      in_place = in_place || (thing.as<bool>() && *thing.as<bool>());
    } else if (!p.aten.empty() && !thing.none()) {
      named.emplace_back(p.aten, std::move(thing));
    }
  };
  for (const Parameter& p : call.parameters) {
    if (at >= args.size()) break;
    if (!p.rest || args[at].as<Things>()) {
      take(p, args[at++]);
      continue;
    }
    take(p, Thing{Things(args.begin() + static_cast<int64_t>(at), args.end())});
    at = args.size();
  }
  if (at < args.size())
    return error(Code::unsupported, loc, "{} takes {} arguments, got {}", node.target, at,
                 args.size());
  for (const auto& [key, item] : node.kwargs) {
    const auto p = std::find_if(
        call.parameters.begin(), call.parameters.end(),
        [&](const Parameter& c) { return c.name == key || (!c.aten.empty() && c.aten == key); });
    if (p == call.parameters.end())
      return error(Code::unsupported, loc, "argument '{}' of {}", key, node.target);
    QC_ASSIGN(Thing thing, scope_.thing(item, loc));
    take(*p, std::move(thing));
  }
  return Ok{};
}

}  // namespace qc::fx
