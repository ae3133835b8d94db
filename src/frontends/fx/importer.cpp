#include "frontends/fx/importer.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "frontends/common/unique_names.h"
#include "frontends/common/unknown_dim.h"
#include "frontends/fx/calls.h"
#include "frontends/fx/interpolate.h"
#include "frontends/fx/quantized.h"
#include "frontends/fx/readers.h"
#include "frontends/fx/scope.h"
#include "frontends/pt2/guards.h"
#include "support/budget.h"

namespace qc::fx {
namespace {

/// The class of a module without its package.
std::string_view short_type(std::string_view type) {
  const size_t dot = type.rfind('.');
  return dot == type.npos ? type : type.substr(dot + 1);
}

/// "relu" of "relu_", and whether it was the in-place form. Of torch.ops.quantized the overload is
/// left out: each op has one.
std::pair<std::string, bool> plain_spelling(std::string spelling) {
  constexpr std::string_view kQuantized = "torch._ops.quantized.", kDefault = ".default";
  if (spelling.starts_with(kQuantized) && spelling.ends_with(kDefault))
    spelling.resize(spelling.size() - kDefault.size());
  const bool in_place = spelling.size() > 2 && spelling.back() == '_' &&
                        spelling[spelling.size() - 2] != '_' &&
                        spelling[spelling.size() - 2] != '.';
  if (in_place) spelling.pop_back();
  return {std::move(spelling), in_place};
}

const Item* attribute(const DumpModule& module, std::string_view name) {
  for (const auto& [key, item] : module.attributes) {
    if (key == name) return &item;
  }
  return nullptr;
}

class Importer {
 public:
  Importer(const Dump& dump, const std::string& file, TensorMap tensors,
           const ImportOptions& options)
      : dump_(dump),
        file_(file),
        options_(options),
        graph_(std::make_unique<Graph>()),
        scope_(*graph_, std::move(tensors)),
        readers_(dump) {
    for (const DumpNode& node : dump.nodes) in_module_[node.module] += readers_.live(node);
  }

  Result<std::unique_ptr<Graph>> run() {
    graph_->file = file_;
    graph_->dot = options_.dot;
    QC_TRY(check_supported());
    QC_TRY(check_dims());
    for (const DumpNode& node : dump_.nodes) {
      if (options_.inputs_only && node.op != "placeholder") continue;
      spend(Cost::work, kNodeWork);
      if (readers_.live(node)) {
        QC_TRY(add(node));
      } else {
        QC_TRY(add_guards(node));
      }
    }
    if (options_.inputs_only) return std::move(graph_);
    if (!returned_) return error(Code::graph, Loc{file_, {}, {}}, "the graph returns nothing");
    graph_->sweep();
    return std::move(graph_);
  }

 private:
  /// A node is called after its module; where a module holds several, its own name follows.
  Loc loc_of(const DumpNode& node) const {
    std::string name = node.name;
    if (node.op == "call_module") {
      name = node.target;
    } else if (!node.module.empty()) {
      name = in_module_.at(node.module) > 1 ? node.module + "/" + node.name : node.module;
    }
    return Loc{file_, {name}, node.target};
  }

  std::string spelling(const DumpNode& node) const {
    return plain_spelling(node.op == "call_method" ? "." + node.target : node.target).first;
  }

  /// Spellings that nothing is known of, all at once.
  Result<Ok> check_supported() const {
    std::map<std::string, std::pair<int, std::string>> missing;
    for (const DumpNode& node : dump_.nodes) {
      if (!readers_.live(node)) continue;
      std::string what;
      const auto overload = find_overload(node.target);
      if (overload && node.op == "call_function") {
        if (!overload->known() && !is_size(*overload)) what = node.target;
      } else if (node.op == "call_module") {
        what = unknown_module(node.target);
      } else if (node.op == "call_function" || node.op == "call_method") {
        const std::string name = spelling(node);
        if (!find_call(name) && !known_to_python(name)) what = node.target;
      }
      if (what.empty()) continue;
      auto& [count, first] = missing[what];
      if (count++ == 0) first = node.name;
    }
    if (missing.empty()) return Ok{};
    Diag diag = error(Code::unsupported_op, Loc{file_, {}, {}}, "{} operation{} not supported",
                      missing.size(), missing.size() == 1 ? " is" : "s are");
    for (const auto& [op, m] : missing) {
      diag.notes.push_back(
          fmt::format("{}: {} node{}, first '{}'", op, m.first, m.first == 1 ? "" : "s", m.second));
    }
    return diag;
  }

  /// The class of the module, or of one in it, that nothing is known of; empty for none.
  std::string unknown_module(const std::string& path) const {
    const auto found = dump_.modules.find(path);
    if (found == dump_.modules.end()) return {};
    const DumpModule& module = found->second;
    const ModuleKind kind = kind_of(module.type);
    if (kind == ModuleKind::unknown) return module.type;
    if (kind != ModuleKind::fused)
      return find_module_call(short_type(module.type)) ? std::string() : module.type;
    for (const std::string& child : module.children) {
      const auto inner = dump_.modules.find(path + "." + child);
      if (inner == dump_.modules.end() || kind_of(inner->second.type) == ModuleKind::fused)
        return module.type;
      if (const std::string what = unknown_module(inner->first); !what.empty()) return what;
    }
    return module.children.empty() ? module.type : std::string();
  }

  /// The size of an axis, which is no tensor.
  static bool is_size(const Overload& overload) { return overload.op == "sym_size.int"; }

  static bool known_to_python(std::string_view name) {
    constexpr std::string_view kKnown[] = {"builtins.getattr",
                                           "builtins.len",
                                           "_operator.getitem",
                                           ".size",
                                           ".dim",
                                           ".ndimension",
                                           ".numel",
                                           ".float",
                                           ".double",
                                           ".half",
                                           ".bfloat16",
                                           ".int",
                                           ".long",
                                           ".bool",
                                           ".to",
                                           "torch.einsum"};
    return std::find(std::begin(kKnown), std::end(kKnown), name) != std::end(kKnown);
  }

  Result<Ok> check_dims() const {
    std::set<std::string> symbols;
    for (const auto& [name, input] : dump_.inputs) {
      for (const Dim& d : input.shape) d.collect_symbols(symbols);
    }
    for (const auto& [name, number] : options_.dims) {
      if (symbols.count(name)) continue;
      const std::vector<std::string> known(symbols.begin(), symbols.end());
      return unknown_dim(Loc{file_, {}, {}}, name, known, known);
    }
    return Ok{};
  }

  /// What the model was traced under. Guards that bound one dimension alone are its range.
  Result<Ok> add_guards(const DumpNode& node) {
    QC_TRY(pt2::add_guards(guards_of(dump_, node), *graph_, options_));
    std::erase_if(graph_->guards, [&](const DimGuard& guard) {
      const bool least = guard.op == DimGuard::Op::ge, most = guard.op == DimGuard::Op::le;
      const std::string name = guard.left.str();
      if (!(least || most) || !guard.right.is_static() || !(guard.left == Dim::symbol(name)))
        return false;
      DimRange& range = graph_->dim_ranges[name];
      if (least) range.min = std::max(range.min, guard.right.value());
      if (most) range.max = std::min(range.max, guard.right.value());
      return true;
    });
    return Ok{};
  }

  Result<Ok> add(const DumpNode& node) {
    const Loc loc = loc_of(node);
    if (returned_) return error(Code::graph, loc, "a node after the output");
    if (node.op == "placeholder") return placeholder(node, loc);
    if (node.op == "output") return output(node, loc);
    Thing result;
    if (node.op == "get_attr") {
      QC_ASSIGN(Value * value, scope_.weight(node.target));
      if (!value) return error(Code::graph, loc, "there is no tensor '{}'", node.target);
      result = Thing{scope_.memory().allocate(value)};
    } else if (node.op == "call_module") {
      QC_ASSIGN(result, call_module(node, loc));
    } else if (node.op == "call_function" || node.op == "call_method") {
      QC_ASSIGN(result, call(node, loc));
    } else {
      return error(Code::format, loc, "a node of the unknown kind '{}'", node.op);
    }
    if (const CellId* cell = result.as<CellId>()) {
      QC_ASSIGN(Value * value, scope_.memory().read(*cell, loc));
      if (value->def() && value->name().empty()) graph_->set_name(value, node.name);
    }
    return scope_.define(node.name, std::move(result), loc);
  }

  Result<Ok> placeholder(const DumpNode& node, const Loc& loc) {
    const auto stated = dump_.inputs.find(node.target);
    if (stated == dump_.inputs.end()) {
      if (!node.args.empty()) {  // a default that nobody overrode
        QC_ASSIGN(Thing fallback, scope_.thing(node.args[0], loc));
        return scope_.define(node.name, std::move(fallback), loc);
      }
      return error(Code::format, loc, "input '{}' has no type and shape", node.target);
    }
    Dims shape;
    for (const Dim& d : stated->second.shape) shape.push_back(d.substitute(options_.dims));
    const auto known = options_.constants.find(node.target);
    Value* value =
        known != options_.constants.end()
            ? graph_->constant(known->second, node.target)
            : graph_->add_input(node.target, Type(stated->second.dtype, std::move(shape)));
    return scope_.define(node.name, Thing{scope_.memory().allocate(value)}, loc);
  }

  Result<Ok> output(const DumpNode& node, const Loc& loc) {
    if (node.args.size() != 1) return error(Code::format, loc, "an output without a value");
    Values values;
    std::vector<std::string> names;
    QC_TRY(flatten(node.args[0], loc, values, names));
    for (size_t i = 0; const std::string& name : unique_names(std::move(names)))
      graph_->add_output(name, values[i++]);
    returned_ = true;
    return Ok{};
  }

  Result<Ok> flatten(const Item& item, const Loc& loc, Values& values,
                     std::vector<std::string>& names) {
    if (item.kind == Item::Kind::list) {
      for (const Item& one : item.items) QC_TRY(flatten(one, loc, values, names));
      return Ok{};
    }
    QC_ASSIGN(const Thing thing, scope_.thing(item, loc));
    if (thing.none()) return Ok{};
    const Things all = thing.as<Things>() ? *thing.as<Things>() : Things{thing};
    for (const Thing& one : all) {
      if (!one.as<CellId>()) return error(Code::unsupported, loc, "a result that is no tensor");
      QC_ASSIGN(Value * value, scope_.tensor(one, loc));
      values.push_back(value);
      names.push_back(item.text);
    }
    return Ok{};
  }

  Result<Thing> call_module(const DumpNode& node, const Loc& loc) {
    const auto found = dump_.modules.find(node.target);
    if (found == dump_.modules.end())
      return error(Code::graph, loc, "there is no module '{}'", node.target);
    if (node.args.size() + node.kwargs.size() != 1)
      return error(Code::unsupported, loc, "a module of {} inputs", node.args.size());
    QC_ASSIGN(Thing value,
              scope_.thing(node.args.empty() ? node.kwargs[0].second : node.args[0], loc));
    const DumpModule& module = found->second;
    if (kind_of(module.type) != ModuleKind::fused)
      return call_module(node.target, module, value, loc);
    for (const std::string& child : module.children) {
      const auto inner = dump_.modules.find(node.target + "." + child);
      QC_ASSIGN(value, call_module(inner->first, inner->second, value, loc));
    }
    return value;
  }

  Result<Thing> call_module(const std::string& path, const DumpModule& module, const Thing& input,
                            const Loc& loc) {
    const ModuleCall& call = *find_module_call(short_type(module.type));
    const ModuleKind kind = kind_of(module.type);
    if (kind == ModuleKind::dynamic) return quantized_.dynamic_linear(path, module, input, loc);
    if (const Item* mode = attribute(module, "padding_mode"); mode && mode->text != "zeros")
      return error(Code::unsupported, loc, "padding mode '{}'", mode->text);
    if (const Item* indices = attribute(module, "return_indices"); indices && indices->boolean)
      return error(Code::unsupported, loc, "pooling that returns indices");
    NamedThings args;
    for (const auto& [name, source] : call.arguments) {
      Thing thing;
      if (source == "@") {
        thing = input;
      } else if (source == "#weight" && kind != ModuleKind::plain) {
        QC_ASSIGN(thing, quantized_.weight(path, module, loc));
      } else if (source[0] == '#') {
        QC_ASSIGN(Value * value, scope_.weight(path + "." + source.substr(1)));
        if (value) thing = Thing{scope_.memory().allocate(value)};
      } else if (const Item* item = attribute(module, source.substr(1))) {
        QC_ASSIGN(thing, scope_.thing(*item, loc));
      }
      args.emplace_back(name, std::move(thing));
    }
    QuantParams params;
    if (kind == ModuleKind::quantized) {
      QC_ASSIGN(params, module_params(path, module, loc));
      const bool weights = std::any_of(call.arguments.begin(), call.arguments.end(),
                                       [](const auto& a) { return a.second == "#weight"; });
      if (weights && !params.given())
        return error(Code::unsupported, loc, "a quantized module without scale and zero point");
    }
    std::string target = call.target;
    choose_padding(target, args);
    const Item* in_place = attribute(module, "inplace");
    return computed(target, args, params, in_place && in_place->boolean, {}, loc);
  }

  /// What the codes of a quantized module's result mean, as its attributes or buffers say.
  Result<QuantParams> module_params(const std::string& path, const DumpModule& module,
                                    const Loc& loc) {
    QuantParams out;
    for (auto [name, to] : {std::pair("scale", &out.scale), {"zero_point", &out.zero_point}}) {
      QC_ASSIGN(Value * stored, scope_.weight(path + "." + name));
      if (stored) {
        *to = Thing{scope_.memory().allocate(stored)};
      } else if (const Item* item = attribute(module, name)) {
        QC_ASSIGN(*to, scope_.thing(*item, loc));
      }
    }
    if (const Item* dtype = attribute(module, "dtype"); dtype && dtype->kind == Item::Kind::dtype)
      out.dtype = dtype->dtype;
    return out;
  }

  /// Calls an op; with quantized operands, or where the call says so, its result is encoded.
  Result<Thing> computed(std::string target, const NamedThings& args, QuantParams params,
                         bool in_place, const Returned& returned, const Loc& loc) {
    if (target == "interpolate") {
      QC_ASSIGN(const AtenCall call, interpolation(scope_, args, loc));
      return computed(call.target, call.args, std::move(params), in_place, returned, loc);
    }
    const QuantParams* operand = quantized_.find(args);
    const std::optional<QuantParams> like = operand ? std::optional(*operand) : std::nullopt;
    if (!params.dtype && like) params.dtype = like->dtype;
    if (target == "dequantize") return quantized_.decoded(args[0].second, loc);
    if (target == "quantize") return quantized_.encode(args[0].second, params, loc);
    constexpr std::string_view kRelu = "+relu";
    const bool relu = target.ends_with(kRelu);
    if (relu) target.resize(target.size() - kRelu.size());
    Thing result;
    if (in_place) {
      QC_ASSIGN(result, scope_.call_in_place(target, args, loc));
    } else {
      QC_ASSIGN(result, scope_.call(target, args, returned, loc));
    }
    if (relu) {
      QC_ASSIGN(result, scope_.call("relu.default", {{"self", result}}, {}, loc));
    }
    if (params.given()) return quantized_.encode(result, params, loc);
    if (!like) return result;
    QC_ASSIGN(const Thing encoded, quantized_.encode_like(target, result, *like, loc));
    if (!in_place) return encoded;
    QC_ASSIGN(Value * value, scope_.tensor(encoded, loc));
    scope_.memory().write(*result.as<CellId>(), value);
    return result;
  }

  /// Convolutions with "same" or "valid" have an overload of their own.
  static void choose_padding(std::string& target, const NamedThings& args) {
    if (!target.starts_with("conv") || !target.ends_with(".default")) return;
    for (const auto& [name, thing] : args) {
      if (name == "padding" && thing.as<std::string>())
        target.replace(target.size() - 7, 7, "padding");
    }
  }

  /// A call of torch.ops, whose arguments have the names of the schema.
  Result<Thing> call(const Overload& overload, const DumpNode& node, const Loc& loc) {
    if (!node.args.empty())
      return error(Code::format, loc, "arguments of {} that have no names", node.target);
    NamedThings named;
    for (const auto& [name, item] : node.kwargs) {
      QC_ASSIGN(Thing thing, scope_.thing(item, loc));
      if (!thing.none()) named.emplace_back(name, std::move(thing));
    }
    if (is_size(overload)) {
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
      QC_ASSIGN(const auto pooled, spatial_mean(named, loc));
      if (pooled) return *pooled;
    }
    return computed(overload.target(), named, {}, overload.in_place,
                    {node.returns_list, readers_.items(node.name)}, loc);
  }

  Result<Thing> call(const DumpNode& node, const Loc& loc) {
    if (const auto overload = find_overload(node.target); overload && node.op == "call_function")
      return call(*overload, node, loc);
    Things args;
    for (const Item& item : node.args) {
      QC_ASSIGN(Thing thing, scope_.thing(item, loc));
      args.push_back(std::move(thing));
    }
    QC_ASSIGN(auto plain, plain_python(scope_, node, args, loc));
    if (plain) {
      const QuantParams* params = args.empty() ? nullptr : quantized_.find(args[0]);
      if (params && node.target == "_operator.getitem") quantized_.mark(*plain, *params);
      return *plain;
    }
    auto [name, in_place] =
        plain_spelling(node.op == "call_method" ? "." + node.target : node.target);
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
    const bool told = call->tells_codes();
    const QuantParams params = take_params(named);
    if (told && !params.given())
      return error(Code::unsupported, loc, "{} without scale and zero point", node.target);
    if (target == "mean.dim") {
      QC_ASSIGN(const auto pooled, spatial_mean(named, loc));
      if (pooled) return *pooled;
    }
    return computed(target, named, params, in_place, {call->lists, readers_.items(node.name)}, loc);
  }

  /// The mean over all axes behind the channels as a pool of one element; nothing where the call is
  /// another mean, or where sizes are free, which pools do not take.
  Result<std::optional<Thing>> spatial_mean(const NamedThings& named, const Loc& loc) {
    const auto argument = [&](std::string_view key) -> const Thing* {
      for (const auto& [name, thing] : named) {
        if (name == key) return &thing;
      }
      return nullptr;
    };
    const std::optional<Thing> none;
    const Thing &self = *argument("self"), *dims = argument("dim"), *kept = argument("keepdim");
    if (!self.as<CellId>() || !dims->as<Things>() || argument("dtype")) return none;
    QC_ASSIGN(const Value* x, scope_.tensor(self, loc));
    const int64_t rank = x->rank();
    if (rank < 4 || rank > 5 || !all_static(x->shape()) || !is_float(x->dtype())) return none;
    std::set<int64_t> axes;
    for (const Thing& dim : *dims->as<Things>()) {
      const Dim* axis = dim.as<Dim>();
      if (axis && axis->is_static()) axes.insert(axis->value() + (axis->value() < 0 ? rank : 0));
    }
    for (int64_t axis = 2; axis < rank; ++axis) axes.erase(axis);
    if (!axes.empty() || dims->as<Things>()->size() != static_cast<size_t>(rank - 2)) return none;
    const Things one(static_cast<size_t>(rank - 2), Thing{Dim(1)});
    QC_ASSIGN(Thing out,
              computed(fmt::format("adaptive_avg_pool{}d.default", rank - 2),
                       {{"self", self}, {"output_size", Thing{one}}}, {}, false, {}, loc));
    if (!kept || !kept->as<bool>() || !*kept->as<bool>()) {
      QC_ASSIGN(out, computed("flatten.using_ints", {{"self", out}, {"start_dim", Thing{Dim(1)}}},
                              {}, false, {}, loc));
    }
    return std::optional(std::move(out));
  }

  Result<Thing> einsum(const Things& args, const Loc& loc) {
    if (args.size() < 2 || !args[0].as<std::string>())
      return error(Code::unsupported, loc, "einsum without an equation in text");
    const Things* listed = args[1].as<Things>();
    Things tensors = listed ? *listed : Things(args.begin() + 1, args.end());
    return scope_.call("einsum.default",
                       {{"equation", args[0]}, {"tensors", Thing{std::move(tensors)}}}, {}, loc);
  }

  static void rename(NamedThings& named, std::string_view from, const char* to) {
    for (auto& [name, thing] : named) {
      if (name == from) name = to;
    }
  }

  /// Positional and keyword arguments by the names of the ATen op.
  Result<Ok> bind(const Call& call, const DumpNode& node, const Things& args, NamedThings& named,
                  bool& in_place, const Loc& loc) const {
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

  /// Which of the call's targets these arguments mean: see Call::target.
  static std::string choose(const Call& call, const NamedThings& named) {
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

  const Dump& dump_;
  const std::string file_;
  const ImportOptions& options_;
  std::unique_ptr<Graph> graph_;
  Scope scope_;
  QuantizedTensors quantized_{scope_};
  const Readers readers_;
  std::map<std::string, int> in_module_;  // nodes of each
  bool returned_ = false;
};

/// The file of tensors, which must lie in the folder of the dump.
Result<std::shared_ptr<const MappedFile>> open_beside(const std::string& path,
                                                      const std::string& name) {
  const Loc loc{path, {}, {}};
  if (path.empty()) {
    return error(Code::path, loc, "tensors in '{}' need a dump that is a file", name);
  }
  if (name.find('/') != name.npos || name.find('\0') != name.npos || name == "..")
    return error(Code::path, loc, "'{}' is not in the folder of the dump", name);
  return MappedFile::open((std::filesystem::path(path).parent_path() / name).string());
}

}  // namespace

Result<std::unique_ptr<Graph>> load(const std::shared_ptr<const MappedFile>& file,
                                    const std::string& path, const ImportOptions& options) {
  constexpr size_t kAlign = 64;
  const auto bytes = file->bytes();
  const std::string_view whole(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const size_t end = whole.find('\0');  // tensors follow in the same file
  QC_ASSIGN(const Dump dump, parse_dump(whole.substr(0, end), Loc{file->path(), {}, {}}));
  TensorMap tensors;
  std::shared_ptr<const MappedFile> stored;
  if (end != whole.npos) {
    stored = file;
    QC_ASSIGN(tensors, read_safetensors(file, (end / kAlign + 1) * kAlign));
  } else if (!dump.tensors.empty()) {
    QC_ASSIGN(stored, open_beside(path, dump.tensors));
    QC_ASSIGN(tensors, read_safetensors(stored));
  }
  QC_ASSIGN(auto graph, Importer(dump, file->path(), std::move(tensors), options).run());
  if (stored) graph->pool().add_file(stored);
  return graph;
}

}  // namespace qc::fx
