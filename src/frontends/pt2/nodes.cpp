#include <optional>

#include "frontends/common/fold.h"
#include "frontends/common/require.h"
#include "frontends/pt2/context.h"
#include "frontends/pt2/sharing.h"
#include "support/located.h"

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
    if (is_control_flow(node.target)) {
      QC_ASSIGN(Values values, import_control_flow(context_, node, loc));
      ForeignNode foreign;
      foreign.loc = loc;
      foreign.op = node.target;
      return define_results(node, foreign, values, 0);
    }
    Target target = split_target(node.target);
    ForeignNode foreign;
    foreign.domain = target.domain;
    foreign.op = target.op;
    foreign.loc = loc;
    size_t self = node.inputs.size();
    for (const NamedArgument& input : node.inputs) {
      QC_ASSIGN(auto arg, convert(context_, input.arg, loc));
      if (!arg) continue;
      if (input.arg.kind == ArgKind::tensor && self == node.inputs.size()) {
        self = foreign.args.size();
      }
      foreign.args.emplace_back(input.name, std::move(*arg));
    }
    foreign.outputs = 0;
    for (const Argument& output : node.outputs) {
      for (const Item& item : output.items) {
        foreign.output_used.push_back(context_.plan.liveness.read(item.text));
        ++foreign.outputs;
      }
    }
    if (flat.autocast != 0) QC_TRY(autocast(node, foreign));
    QC_TRY(hand_over_storage(context_, node, foreign));
    auto plain = target.domain == "aten" ? functional_name(target.op) : std::nullopt;
    if (plain) {
      foreign.op = *plain;
      return add_write(node, foreign);
    }
    return add_plain(node, foreign, self);
  }

 private:
  Result<Ok> add_symbolic(const ExportedNode& node, const Loc& loc) {
    std::vector<Arg> args;
    for (const NamedArgument& input : node.inputs) {
      auto arg = convert(context_, input.arg, loc);
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
    Node* before = graph_.last();
    QC_ASSIGN(Values values, located(row->import(import), foreign.loc));
    QC_TRY(fold_new_nodes(graph_, before, values));
    return values;
  }

  /// The result of a row must be what the file says: element type and sizes, symbolic ones as soon
  /// as they are bound.
  Result<Ok> check_result(const std::string& name, const Value* value, const Loc& loc) const {
    QC_ASSIGN(Type type, context_.type_of(name, loc));
    bool same = value->dtype() == type.dtype && value->rank() == type.rank();
    for (int64_t i = 0; same && i < type.rank(); ++i) {
      const Dim &a = value->shape()[i], &b = type.shape[i];
      if (is_unbacked(a) || is_unbacked(b)) continue;
      same = require(graph_, {a, DimGuard::Op::eq, b});
    }
    if (same) return Ok{};
    return error(Code::type, loc, "'{}' is {} by its operands, the file says {}", name,
                 str(value->type()), str(type));
  }

  Result<Ok> add_plain(const ExportedNode& node, const ForeignNode& foreign, size_t self) {
    QC_ASSIGN(Values values, run_row(foreign));
    QC_TRY(take_back_storage(context_, node, foreign, values));
    return define_results(node, foreign, values, self);
  }

  /// Gives the results of a node their names, as fresh memory or as views of argument `self`.
  Result<Ok> define_results(const ExportedNode& node, const ForeignNode& foreign,
                            const Values& values, size_t self) {
    Sharing sharing(context_, node, foreign, self);
    size_t i = 0;
    for (const Argument& output : node.outputs) {
      for (const Item& item : output.items) {
        size_t at = i++;
        if (item.kind != Item::Kind::name || output.kind == ArgKind::sym_int) continue;
        if (at >= values.size() || values[at] == nullptr) {
          if (!context_.plan.liveness.read(item.text)) continue;
          return error(Code::unsupported, foreign.loc, "result {} of {}", at, foreign.op);
        }
        Value* value = values[at];
        // Shapes of results nobody reads are not always right: PyTorch records final states of a
        // stacked LSTM with an axis too many.
        if (context_.plan.liveness.read(item.text))
          QC_TRY(check_result(item.text, value, foreign.loc));
        if (value->def() != nullptr && value->name().empty()) graph_.set_name(value, item.text);
        QC_ASSIGN(CellId cell, sharing.cell_of(at, item.text, value));
        QC_TRY(context_.define(item.text, cell, foreign.loc));
      }
    }
    return Ok{};
  }

  /// `value` as the whole contents of a tensor like `like`.
  Result<Value*> fitted(Value* value, const Value* like, const ForeignNode& foreign) {
    Import import(graph_, foreign);
    QC_ASSIGN(value, import.cast(value, like->dtype()));
    if (value->shape() == like->shape()) return value;
    return call_aten(graph_, "expand.default", {{"self", value}, {"size", like->shape()}},
                     foreign.loc);
  }

  /// An in-place op: the plain op, and its result becomes the contents of the first operand.
  Result<Ok> add_write(const ExportedNode& node, const ForeignNode& foreign) {
    std::string name(first_tensor(node));
    QC_ASSIGN(Value * old, context_.read(name, foreign.loc));
    CellId cell = context_.cells.at(name);
    QC_ASSIGN(Values values, run_row(foreign));
    if (values.empty()) return error(Code::bug, foreign.loc, "{} gives no value", foreign.op);
    Value* value = values[0];
    const ViewOp* view = find_view(foreign.op);
    if (view != nullptr && view->write_back != WriteBack::identity) {
      // squeeze_, t_, ...: the tensor itself becomes another view of its memory.
      const std::string& result = node.outputs.empty() ? name : node.outputs[0].items[0].text;
      QC_ASSIGN(cell, Sharing(context_, node, foreign, 0).cell_of(0, result, value));
      context_.cells[name] = cell;
    } else {
      QC_ASSIGN(value, fitted(value, old, foreign));
      QC_TRY(context_.memory.write(cell, value, foreign.loc));
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
Result<Ok> import_node(Context& context, const FlatNode& flat, const Loc& loc) {
  return NodeImporter(context).add_node(flat, loc);
}

}  // namespace qc::pt2
