#include "passes/quantized_ops.h"

#include "passes/fold_constants.h"
#include "quant/emit.h"
#include "quant/quantizable.h"

namespace qc {

bool is_plain(const Type& type) {
  return type.format && type.format->granularity == Granularity::tensor &&
         !type.format->is_dynamic();
}

bool runs_on_codes(const Node& n) {
  return n.info().has(kOnCodes) || n.info().has(kMovesElements) || n.info().has(kReshapes);
}

std::optional<size_t> function_operand(const Node& n) {
  if (!n.info().has(kElementwise) || n.output_count() != 1) return std::nullopt;
  std::optional<size_t> found;
  for (size_t i = 0; i < n.input_count(); ++i) {
    const Value* v = n.input(i);
    if (!v || v->dtype() != DType::f32) return std::nullopt;
    if (v->is_constant() && product(v->shape()) == Dim(1)) continue;
    if (found) return std::nullopt;
    found = i;
  }
  if (!found || n.output()->dtype() != DType::f32 ||
      n.input(*found)->shape() != n.output()->shape()) {
    return std::nullopt;
  }
  return found;
}

bool has_quantized_op(Node& node) {
  return capability<Quantizable>(&node) || runs_on_codes(node) || function_operand(node) ||
         node.info().has(kQuantizedInFloat);
}

bool can_tabulate(const QType& x, const QType& y) {
  return is_plain(Type(x, {})) && bits(x.dtype) <= 8 && bits(y.dtype) <= 16 && y.format &&
         y.format->granularity == Granularity::tensor;
}

Node* decoder(Value* v) { return v && capability<IsDequantize>(v->def()) ? v->def() : nullptr; }

namespace {

/// Codes that mean the same, element for element: of one scale, or of one per index of an axis
/// that a layout op moved.
bool same_meaning(const QType& a, const QType& b) {
  return a.dtype == b.dtype && a.format && b.format &&
         a.format->granularity == b.format->granularity && a.format->scale == b.format->scale &&
         a.format->zero_point == b.format->zero_point && a.format->qmin == b.format->qmin &&
         a.format->qmax == b.format->qmax;
}

}  // namespace

Node* on_codes(Graph& graph, Node& node, std::vector<Value*> inputs, const QType& codes) {
  Result<Node*> made = graph.add(node.clone(), std::move(inputs), node.loc(), &node);
  if (!made.ok()) return nullptr;  // an op that takes no integers stays as it is
  for (size_t i = 0; i < node.output_count(); ++i) {
    if (node.output(i)->dtype() == DType::f32 &&
        !same_meaning((*made)->output(i)->type().quant(), codes)) {
      graph.erase(*made);
      return nullptr;
    }
  }
  return *made;
}

Result<bool> move_to_codes(Graph& graph, Node& node) {
  Node* first = nullptr;
  std::vector<Value*> inputs = node.inputs();
  bool constant = true;
  for (Value*& v : inputs) {
    if (v && v->dtype() == DType::f32) {
      Node* d = decoder(v);
      if (!d || (first && !(first->input(0)->type().quant() == d->input(0)->type().quant() &&
                            first->input(1) == d->input(1)))) {
        return false;
      }
      if (!first) first = d;
      v = d->input(0);
    }
    constant = constant && (!v || v->is_constant());
  }
  const QType codes = first ? first->input(0)->type().quant() : QType{};
  if (!first || (codes.format->is_dynamic() && codes.format->granularity != Granularity::tensor))
    return false;
  Node* made = on_codes(graph, node, inputs, codes);
  if (!made) return false;
  std::vector<Value*> results;
  for (size_t i = 0; i < node.output_count(); ++i) results.push_back(made->output(i));
  if (constant) {
    QC_ASSIGN(results, record(graph, *made, inputs));
  }
  for (size_t i = 0; i < node.output_count(); ++i) {
    Value* y = results[i];
    if (node.output(i)->dtype() == DType::f32) {
      QC_ASSIGN(y,
                emit_dequantize({graph, node.loc(), &node}, y, first->input(1), first->input(2)));
    }
    graph.replace_uses(node.output(i), y);
  }
  return true;
}

}  // namespace qc
