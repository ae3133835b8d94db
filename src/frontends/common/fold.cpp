// Folding while importing. Import rows ask for constants (axes, sizes, scales); exporters compute
// them by little chains of nodes, so each such chain is evaluated as soon as it is imported.
#include "frontends/common/fold.h"

#include "frontends/common/known.h"
#include "interp/eval.h"
#include "support/budget.h"
#include "support/located.h"

namespace qc {
namespace {

constexpr int64_t kMaxBytes = 4096;

bool small(const Type& type) {
  if (!all_static(type.shape)) return false;
  auto total = checked_bytes(type.dtype, static_dims(type.shape));
  return total.ok() && *total <= kMaxBytes;
}

bool foldable(const Node& node) {
  if (node.info().has(kRandom) || node.info().has(kKeepsConstant) || !node.regions().empty() ||
      node.output_count() == 0) {
    return false;
  }
  for (size_t i = 0; i < node.input_count(); ++i) {
    const Value* v = node.input(i);
    if (v && !(v->is_constant() && small(v->type()))) return false;
  }
  for (size_t i = 0; i < node.output_count(); ++i) {
    if (!small(node.output(i)->type())) return false;
  }
  return true;
}

/// The values of the node's outputs, empty when they cannot be known now.
std::vector<Tensor> evaluate(const Node& node, ConstantPool& pool) {
  if (foldable(node)) {
    std::vector<Tensor> held;
    std::vector<const Tensor*> inputs;
    held.reserve(node.input_count());
    for (size_t i = 0; i < node.input_count(); ++i) {
      if (!node.input(i)) {
        inputs.push_back(nullptr);
        continue;
      }
      auto t = pool.get(node.input(i)->constant());
      if (!t.ok()) return {};
      held.push_back(std::move(*t));
      inputs.push_back(&held.back());
    }
    auto out = eval_node(node, inputs);
    return out.ok() ? std::move(*out) : std::vector<Tensor>{};
  }
  if (node.output_count() == 1 && small(node.output(0)->type())) {
    const Type& type = node.output(0)->type();
    auto ints = known_ints(node.output(0));
    if (!ints || !all_static(*ints) || is_float(type.dtype)) return {};
    Tensor t(type.dtype, static_dims(type.shape));
    if (t.size() != static_cast<int64_t>(ints->size())) return {};
    for (int64_t i = 0; i < t.size(); ++i) t.set_int(i, (*ints)[static_cast<size_t>(i)].value());
    return {t};
  }
  return {};
}

}  // namespace

std::optional<Tensor> known_tensor(const Graph& graph, const Value* value) {
  const auto constant = [&](const Value* v) -> std::optional<Tensor> {
    auto t = graph.pool().get(v->constant());
    return t.ok() ? std::optional(std::move(*t)) : std::nullopt;
  };
  if (value->is_constant()) return constant(value);
  const Node* node = value->def();
  if (!node || !node->info().has(kKeepsConstant)) return std::nullopt;
  std::vector<Tensor> held(node->input_count());
  std::vector<const Tensor*> inputs;
  for (size_t i = 0; i < held.size(); ++i) {
    const Value* v = node->input(i);
    inputs.push_back(v ? &held[i] : nullptr);
    if (!v) continue;
    auto t = v->is_constant() ? constant(v) : std::nullopt;
    if (!t) return std::nullopt;
    held[i] = std::move(*t);
  }
  auto out = eval_node(*node, inputs);
  return out.ok() ? std::optional((*out)[value->index()]) : std::nullopt;
}

Result<Ok> fold_new_nodes(Graph& graph, Node* before, Values& results) {
  for (Node* n = before ? before->next() : graph.first(); n != nullptr;) {
    Node* next = n->next();
    std::vector<Tensor> values = evaluate(*n, graph.pool());
    if (!values.empty()) {
      for (size_t i = 0; i < values.size(); ++i) {
        Value* constant = graph.constant(std::move(values[i]));
        for (const Value* v : n->inputs()) {
          if (v && v->is_constant()) graph.pool().made_from(constant->constant(), v->constant());
        }
        graph.replace_uses(n->output(i), constant);
        for (Value*& r : results) {
          if (r == n->output(i)) r = constant;
        }
      }
      graph.erase(n);
    }
    n = next;
  }
  return Ok{};
}

Result<Values> add_onnx(Graph& graph, const Loc& loc, std::string_view op, Values inputs,
                        OnnxArgs args, size_t outputs) {
  const ImportRow* row = import_table().find("", op, kOnnxVersion);
  if (!row) return error(Code::unsupported_op, loc, "needs {}, which is not supported", op);
  const Doing doing("importing", &loc);
  spend(Cost::work, 20 * kNodeWork);  // a row asks for constants, infers and folds
  ForeignNode node;
  node.op = std::string(op);
  node.version = kOnnxVersion;
  node.inputs = std::move(inputs);
  node.args = std::move(args);
  node.outputs = outputs;
  node.loc = loc;
  Node* before = graph.last();
  Import import(graph, node);
  QC_ASSIGN(Values results, located(row->import(import), loc));
  QC_TRY(fold_new_nodes(graph, before, results));
  return results;
}

}  // namespace qc
