#include "frontends/fx/scope.h"

#include <algorithm>

#include "frontends/common/fold.h"
#include "support/located.h"

namespace qc::fx {
namespace {

/// Ops whose result may be the memory of their first operand, besides rows that say so.
constexpr std::string_view kMayShare[] = {
    "reshape.default", "flatten.using_ints", "contiguous.default",      "type_as.default",
    "to.dtype",        "dropout.default",    "feature_dropout.default", "alpha_dropout.default"};

/// The argument that must be off: networks are run, not trained.
constexpr std::string_view kTraining[] = {"train", "training"};

/// The row of an ATen op, or of the package before "::".
std::pair<std::string_view, std::string_view> package_and_op(std::string_view target) {
  const size_t at = target.find("::");
  return at == target.npos ? std::pair(std::string_view("aten"), target)
                           : std::pair(target.substr(0, at), target.substr(at + 2));
}

const ImportRow* find_row(std::string_view target) {
  const auto [package, op] = package_and_op(target);
  return import_table().find(package, op, 0);
}

bool returns_several(std::string_view target, const Returned& returned) {
  return returned.list || target == "max.dim" || target == "min.dim";
}

const CellId* first_tensor(const NamedThings& args) {
  for (const auto& [name, thing] : args) {
    if (const CellId* cell = thing.as<CellId>()) return cell;
  }
  return nullptr;
}

}  // namespace

Result<Ok> Scope::define(const std::string& name, Thing thing, const Loc& loc) {
  if (names_.emplace(name, std::move(thing)).second) return Ok{};
  return error(Code::graph, loc, "value '{}' is defined twice", name);
}

Result<Thing> Scope::thing(const Item& item, const Loc& loc) const {
  switch (item.kind) {
    case Item::Kind::none:
      return Thing{};
    case Item::Kind::boolean:
      return Thing{item.boolean};
    case Item::Kind::integer:
      return Thing{Dim(item.integer)};
    case Item::Kind::real:
      return Thing{item.real};
    case Item::Kind::text:
      return Thing{item.text};
    case Item::Kind::dtype:
      return Thing{item.dtype};
    case Item::Kind::ellipsis:
      return Thing{Ellipsis{}};
    case Item::Kind::ignored:
      return Thing{Ignored{}};
    case Item::Kind::node: {
      const auto found = names_.find(item.text);
      if (found == names_.end())
        return error(Code::graph, loc, "value '{}' is used before it is defined", item.text);
      return found->second;
    }
    case Item::Kind::list:
    case Item::Kind::slice:
      break;
  }
  Things things;
  for (const Item& one : item.items) {
    QC_ASSIGN(Thing made, thing(one, loc));
    things.push_back(std::move(made));
  }
  if (item.kind == Item::Kind::list) return Thing{std::move(things)};
  return Thing{std::make_shared<const Slice>(Slice{things[0], things[1], things[2]})};
}

Result<Value*> Scope::tensor(const Thing& thing, const Loc& loc) const {
  if (const CellId* cell = thing.as<CellId>()) return memory_.read(*cell, loc);
  return error(Code::type, loc, "a tensor is expected");
}

Result<Value*> Scope::weight(const std::string& name) {
  const auto stored = tensors_.find(name);
  if (stored == tensors_.end()) return nullptr;
  auto [at, fresh] = loaded_.try_emplace(name);
  if (fresh) at->second = graph_.pool().add(stored->second, name);
  return graph_.constant(at->second);
}

Result<Arg> Scope::list_argument(const Things& things, const Loc& loc) const {
  const auto all = [&](auto is) { return std::all_of(things.begin(), things.end(), is); };
  const auto any = [&](auto is) { return std::any_of(things.begin(), things.end(), is); };
  if (any([](const Thing& t) { return t.as<CellId>() != nullptr; })) {
    Values values;
    for (const Thing& t : things) {
      Value* value = nullptr;
      if (!t.none()) {
        QC_ASSIGN(value, tensor(t, loc));
      }
      values.push_back(value);
    }
    return Arg(std::move(values));
  }
  if (all([](const Thing& t) { return t.as<Dim>() != nullptr; })) {
    Dims dims;
    for (const Thing& t : things) dims.push_back(*t.as<Dim>());
    if (all_static(dims)) return Arg(Ints(static_dims(dims)));
    return Arg(std::move(dims));
  }
  Floats floats;
  for (const Thing& t : things) {
    const Dim* size = t.as<Dim>();
    const double* real = t.as<double>();
    if (!real && !(size && size->is_static()))
      return error(Code::unsupported, loc, "a list of arguments of several kinds");
    floats.push_back(real ? *real : static_cast<double>(size->value()));
  }
  return Arg(std::move(floats));
}

Result<Arg> Scope::argument(const Thing& thing, const Loc& loc) const {
  if (thing.none() || thing.as<Ignored>()) return Arg(std::monostate{});
  if (thing.as<CellId>()) {
    QC_ASSIGN(Value * value, tensor(thing, loc));
    return Arg(value);
  }
  if (const Dim* dim = thing.as<Dim>()) return dim->is_static() ? Arg(dim->value()) : Arg(*dim);
  if (const double* real = thing.as<double>()) return Arg(*real);
  if (const bool* flag = thing.as<bool>()) return Arg(*flag);
  if (const std::string* text = thing.as<std::string>()) return Arg(*text);
  if (const DType* dtype = thing.as<DType>()) return Arg(*dtype);
  if (const Things* things = thing.as<Things>()) return list_argument(*things, loc);
  return error(Code::unsupported, loc, "an argument of this kind");
}

Result<Values> Scope::run_row(const std::string& target, const NamedThings& args,
                              const Returned& returned, const Loc& loc) {
  const ImportRow* row = find_row(target);
  const auto [package, op] = package_and_op(target);
  if (!row)
    return error(Code::unsupported_op, loc, "operation {}.{} is not supported", package, op);
  ForeignNode foreign;
  foreign.domain = package;
  foreign.op = op;
  foreign.loc = loc;
  foreign.outputs = returns_several(target, returned) ? 64 : 1;  // however many there are
  foreign.output_used = returned.items;
  for (const auto& [name, thing] : args) {
    const bool* flag = thing.as<bool>();
    if (flag && *flag &&
        std::find(std::begin(kTraining), std::end(kTraining), name) != std::end(kTraining)) {
      return error(Code::unsupported, loc,
                   "the model was traced in training mode; call .eval() before");
    }
    QC_ASSIGN(Arg arg, argument(thing, loc));
    foreign.args.emplace_back(name, std::move(arg));
  }
  Import import(graph_, foreign);
  Node* before = graph_.last();
  QC_ASSIGN(Values values, located(row->import(import), loc));
  QC_TRY(fold_new_nodes(graph_, before, values));
  return values;
}

Result<Thing> Scope::call(const std::string& target, const NamedThings& args,
                          const Returned& returned, const Loc& loc) {
  QC_ASSIGN(const Values values, run_row(target, args, returned, loc));
  const ImportRow* row = find_row(target);
  const CellId* from = first_tensor(args);
  const bool may_share =
      row->alias == Alias::view ||
      std::find(std::begin(kMayShare), std::end(kMayShare), target) != std::end(kMayShare);
  Things out;
  for (Value* value : values) {
    if (!value) {
      out.emplace_back();
      continue;
    }
    bool shares = from && may_share;
    if (from && !shares) {
      QC_ASSIGN(const Value* given, memory_.read(*from, loc));
      shares = given == value;
    }
    out.push_back(Thing{shares ? memory_.view(*from, value) : memory_.allocate(value)});
  }
  if (!returns_several(target, returned) && !out.empty()) return out[0];
  return Thing{std::move(out)};
}

Result<Thing> Scope::call_in_place(const std::string& target, const NamedThings& args,
                                   const Loc& loc) {
  const CellId* self = first_tensor(args);
  if (!self || args[0].second.as<CellId>() != self)
    return error(Code::unsupported, loc, "an in-place operation on what is no tensor");
  QC_ASSIGN(Value * before, memory_.read(*self, loc));
  if (before->is_constant())
    return error(Code::unsupported, loc, "an in-place operation on a parameter or buffer");
  QC_ASSIGN(const Values values, run_row(target, args, {}, loc));
  if (values.empty() || values[0]->shape() != before->shape())
    return error(Code::shape, loc, "an in-place operation that changes the shape");
  ForeignNode foreign;
  foreign.loc = loc;
  QC_ASSIGN(Value * value, Import(graph_, foreign).cast(values[0], before->dtype()));
  memory_.write(*self, value);
  return Thing{*self};
}

}  // namespace qc::fx
