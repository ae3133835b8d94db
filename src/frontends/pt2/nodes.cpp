#include <optional>

#include "frontends/pt2/context.h"

namespace qc::pt2 {
namespace {

/// Ops whose `train`-like argument must be off, and the argument that must then be given for the op
/// to depend on it.
struct TrainingOp {
  std::string_view op, flag, with;
};
constexpr TrainingOp kTraining[] = {
    {"batch_norm.default", "training", "running_mean"},
    {"_native_batch_norm_legit.default", "training", ""},
    {"_native_batch_norm_legit_functional.default", "training", ""},
    {"native_batch_norm.default", "training", "running_mean"},
    {"dropout.default", "train", ""},
    {"native_dropout.default", "train", ""},
    {"feature_dropout.default", "train", ""},
    {"alpha_dropout.default", "train", ""},
    {"feature_alpha_dropout.default", "train", ""},
    {"rrelu.default", "training", ""},
};

class NodeImporter {
 public:
  explicit NodeImporter(Context& context) : context_(context), graph_(context.graph) {}

  Result<Ok> add_node(const FlatNode& flat, const Loc& loc) {
    const ExportedNode& node = flat.node;
    if (is_symbolic(node)) return add_symbolic(node, loc);
    Target target = split_target(node.target);
    ForeignNode foreign;
    foreign.domain = target.domain;
    foreign.op = target.op;
    foreign.loc = loc;
    size_t self = node.inputs.size();
    for (const NamedArgument& input : node.inputs) {
      QC_ASSIGN(auto arg, convert(input.arg, loc));
      if (!arg) continue;
      if (input.arg.kind == ArgKind::tensor && self == node.inputs.size()) {
        self = foreign.args.size();
      }
      foreign.args.emplace_back(input.name, std::move(*arg));
    }
    foreign.outputs = 0;
    for (const Argument& output : node.outputs) {
      for (const Item& item : output.items) {
        foreign.output_used.push_back(context_.liveness.read(item.text));
        ++foreign.outputs;
      }
    }
    if (flat.autocast != 0) QC_TRY(autocast(node, foreign));
    auto plain = target.domain == "aten" ? plain_form(target.op) : std::nullopt;
    if (plain) {
      foreign.op = *plain;
      return add_write(node, std::move(foreign), is_fill(target.op));
    }
    return add_plain(node, std::move(foreign), self);
  }

 private:
  /// The argument in neutral form; nothing for those that say nothing here (device, layout).
  Result<std::optional<Arg>> convert(const Argument& arg, const Loc& loc) {
    auto wrap = [](Arg value) { return std::optional<Arg>(std::move(value)); };
    auto collect = [&](auto list, auto field) {
      for (const Item& item : arg.items) list.push_back(item.*field);
      return wrap(std::move(list));
    };
    switch (arg.kind) {
      case ArgKind::none:
        return wrap(std::monostate{});
      case ArgKind::tensor: {
        QC_ASSIGN(Value * value, context_.read(arg.items[0].text, loc));
        return wrap(value);
      }
      case ArgKind::tensors:
      case ArgKind::optional_tensors: {
        Values values;
        for (const Item& item : arg.items) {
          Value* value = nullptr;
          if (item.kind == Item::Kind::name) {
            QC_ASSIGN(value, context_.read(item.text, loc));
          }
          values.push_back(value);
        }
        return wrap(std::move(values));
      }
      case ArgKind::integer:
        return wrap(arg.items[0].integer);
      case ArgKind::real:
        return wrap(arg.items[0].real);
      case ArgKind::boolean:
        return wrap(arg.items[0].integer != 0);
      case ArgKind::text:
        return wrap(arg.items[0].text);
      case ArgKind::integers:
      case ArgKind::booleans:
        return collect(Ints{}, &Item::integer);
      case ArgKind::reals:
        return collect(Floats{}, &Item::real);
      case ArgKind::texts:
        return collect(Strings{}, &Item::text);
      case ArgKind::sym_int:
      case ArgKind::sym_float:
      case ArgKind::sym_bool: {
        QC_ASSIGN(Arg number, context_.symbols.number(arg.items[0], loc));
        return wrap(std::move(number));
      }
      case ArgKind::sym_ints: {
        Dims dims;
        for (const Item& item : arg.items) {
          QC_ASSIGN(Dim dim, context_.symbols.size(item, loc));
          dims.push_back(std::move(dim));
        }
        if (all_static(dims)) return wrap(static_dims(dims));
        return wrap(std::move(dims));
      }
      case ArgKind::scalar_type: {
        auto dtype = to_dtype(arg.items[0].integer);
        if (!dtype) {
          return error(Code::unsupported, loc, "values of type {} are not supported",
                       scalar_type_name(arg.items[0].integer));
        }
        return wrap(*dtype);
      }
      case ArgKind::memory_format:
      case ArgKind::layout:
      case ArgKind::device:
        return std::optional<Arg>();
      default:
        return error(Code::unsupported, loc, "arguments of kind '{}' are not supported",
                     arg.member);
    }
  }

  Result<Ok> add_symbolic(const ExportedNode& node, const Loc& loc) {
    std::vector<Arg> args;
    for (const NamedArgument& input : node.inputs) {
      auto arg = convert(input.arg, loc);
      // A number nobody can compute matters only to who reads it.
      if (!arg.ok()) return Ok{};
      if (*arg) args.push_back(std::move(**arg));
    }
    return context_.symbols.evaluate(graph_, node, args, loc);
  }

  Result<Ok> refuse_training(const Import& import) const {
    for (const TrainingOp& row : kTraining) {
      if (row.op != import.node().op) continue;
      QC_ASSIGN(bool on, import.b(row.flag, false));
      if (on && (row.with.empty() || import.given(row.with))) {
        return import.fail(Code::unsupported,
                           "the model was exported in training mode; call .eval() before export");
      }
    }
    return Ok{};
  }

  /// Inside autocast the file records types the ops only take after casts of their operands.
  Result<Ok> autocast(const ExportedNode& node, ForeignNode& foreign) {
    if (foreign.op.starts_with("to.") || foreign.op.starts_with("_to_copy") ||
        foreign.op.starts_with("type_as") || node.outputs.empty() ||
        node.outputs[0].kind != ArgKind::tensor) {
      return Ok{};
    }
    QC_ASSIGN(Type type, context_.type_of(node.outputs[0].items[0].text, foreign.loc));
    if (!is_float(type.dtype)) return Ok{};
    Import import(graph_, foreign);
    for (auto& [name, arg] : foreign.args) {
      if (auto* value = std::get_if<Value*>(&arg); value && *value && is_float((*value)->dtype())) {
        QC_ASSIGN(*value, import.cast(*value, type.dtype));
      }
    }
    return Ok{};
  }

  Result<Values> run_row(const ForeignNode& foreign) {
    const ImportRow* row = import_table().find(foreign.domain, foreign.op, 0);
    if (row == nullptr) {
      return error(Code::unsupported_op, foreign.loc, "operation {}.{} is not supported",
                   foreign.domain, foreign.op);
    }
    Import import(graph_, foreign);
    QC_TRY(refuse_training(import));
    return row->import(import);
  }

  /// The result of a row must be what the file says: static sizes and element type.
  Result<Ok> check_result(const std::string& name, const Value* value, const Loc& loc) const {
    QC_ASSIGN(Type type, context_.type_of(name, loc));
    bool same = value->dtype() == type.dtype && value->rank() == type.rank();
    for (int64_t i = 0; same && i < type.rank(); ++i) {
      const Dim &a = value->shape()[i], &b = type.shape[i];
      same = !a.is_static() || !b.is_static() || a == b;
    }
    if (same) return Ok{};
    return error(Code::type, loc, "'{}' is {} by its operands, the file says {}", name,
                 str(value->type()), str(type));
  }

  Result<Ok> add_plain(const ExportedNode& node, ForeignNode foreign, size_t self) {
    QC_ASSIGN(Values values, run_row(foreign));
    const ViewOp* view = foreign.domain == "aten" ? find_view(foreign.op) : nullptr;
    std::string base(first_tensor(node));
    if (view != nullptr && (base.empty() || self >= foreign.args.size())) view = nullptr;
    size_t i = 0;
    Dim start(0);
    for (const Argument& output : node.outputs) {
      for (const Item& item : output.items) {
        size_t at = i++;
        if (item.kind != Item::Kind::name || output.kind == ArgKind::sym_int) continue;
        if (at >= values.size() || values[at] == nullptr) {
          if (!foreign.output_used[at]) continue;
          return error(Code::bug, foreign.loc, "output {} of {} was not imported", at, foreign.op);
        }
        Value* value = values[at];
        QC_TRY(check_result(item.text, value, foreign.loc));
        CellId cell = 0;
        if (view != nullptr && is_view(*view, base, item.text)) {
          ViewRecipe recipe{view, nullptr, foreign, self, at, start};
          if (view->write_back != WriteBack::identity) {
            recipe.row = import_table().find("aten", foreign.op, 0);
          }
          cell = context_.memory.view(context_.cells.at(base), std::move(recipe), value);
          if (view->write_back == WriteBack::parts) {
            Import import(graph_, foreign);
            QC_ASSIGN(int64_t axis, import.i("dim", 0));
            QC_ASSIGN(axis, resolve_axis(axis, value->rank(), foreign.loc));
            start = start + value->shape()[axis];
          }
        } else {
          cell = context_.memory.allocate(value);
        }
        QC_TRY(context_.define(item.text, cell, foreign.loc));
      }
    }
    return Ok{};
  }

  bool is_view(const ViewOp& view, const std::string& from, const std::string& to) const {
    auto a = context_.flat.tensors.find(from), b = context_.flat.tensors.find(to);
    if (a == context_.flat.tensors.end() || b == context_.flat.tensors.end()) return !view.may_copy;
    return returns_view(view, a->second, b->second);
  }

  /// `value` as the whole contents of a tensor like `like`.
  Result<Value*> fitted(Value* value, const Value* like, const ForeignNode& foreign) {
    Import import(graph_, foreign);
    QC_ASSIGN(value, import.cast(value, like->dtype()));
    if (value->shape() == like->shape()) return value;
    ForeignNode expand;
    expand.op = "expand.default";
    expand.loc = foreign.loc;
    expand.args = {{"self", value}, {"size", like->shape()}};
    QC_ASSIGN(Values values, import_aten(graph_, std::move(expand)));
    if (values.empty()) return error(Code::bug, foreign.loc, "expand gives no value");
    return values[0];
  }

  /// An in-place op: the plain op, and its result becomes the contents of the first operand.
  Result<Ok> add_write(const ExportedNode& node, ForeignNode foreign, bool fill) {
    std::string name(first_tensor(node));
    QC_ASSIGN(Value * old, context_.read(name, foreign.loc));
    CellId cell = context_.cells.at(name);
    Value* value = nullptr;
    if (fill) {
      Import import(graph_, foreign);
      if (foreign.op == "zero.default") {
        value = import.scalar(0, old->dtype());
      } else {
        QC_ASSIGN(value, import.tensor(foreign.op == "copy.default" ? "src" : "value"));
      }
    } else {
      QC_ASSIGN(Values values, run_row(foreign));
      if (values.empty()) return error(Code::bug, foreign.loc, "{} gives no value", foreign.op);
      value = values[0];
    }
    const ViewOp* view = find_view(foreign.op);
    if (view != nullptr && view->write_back != WriteBack::identity) {
      // squeeze_, t_, ...: the tensor itself becomes another view of its memory.
      ViewRecipe recipe{view, import_table().find("aten", foreign.op, 0), foreign, 0, 0, Dim(0)};
      cell = context_.memory.view(cell, std::move(recipe), value);
      context_.cells[name] = cell;
    } else {
      QC_ASSIGN(value, fitted(value, old, foreign));
      QC_TRY(context_.memory.write(cell, value));
    }
    for (const Argument& output : node.outputs) {
      if (output.kind == ArgKind::tensor) {
        QC_TRY(context_.define(output.items[0].text, cell, foreign.loc));
      }
    }
    return Ok{};
  }

  Context& context_;
  Graph& graph_;
};

}  // namespace

/// Writes that need no row of their own.
bool is_fill(std::string_view op) {
  return op == "copy_.default" || op == "fill_.Scalar" || op == "fill_.Tensor" ||
         op == "zero_.default";
}

Result<Type> Context::type_of(const std::string& name, const Loc& loc) const {
  auto it = flat.tensors.find(name);
  if (it == flat.tensors.end()) return error(Code::graph, loc, "value '{}' has no type", name);
  auto dtype = to_dtype(it->second.dtype);
  if (!dtype) {
    return error(Code::unsupported, loc, "values of type {} are not supported",
                 scalar_type_name(it->second.dtype));
  }
  QC_ASSIGN(Dims dims, symbols.dims(it->second.sizes, loc));
  return Type(*dtype, std::move(dims));
}

Result<Ok> Context::define(const std::string& name, CellId cell, const Loc& loc) {
  if (!cells.emplace(name, cell).second) {
    return error(Code::graph, loc, "value '{}' is defined twice", name);
  }
  return Ok{};
}

Result<Value*> Context::read(const std::string& name, const Loc& loc) {
  auto it = cells.find(name);
  if (it == cells.end()) {
    return error(Code::graph, loc, "value '{}' is used before it is defined", name);
  }
  return memory.read(it->second);
}

Result<Ok> import_node(Context& context, const FlatNode& flat, const Loc& loc) {
  return NodeImporter(context).add_node(flat, loc);
}

}  // namespace qc::pt2
