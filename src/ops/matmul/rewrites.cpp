// A matrix product with constant weights is a linear layer: then biases and norms can join it.
#include "ir/op_table.h"
#include "ops/matmul/matmul.h"

namespace qc {
namespace {

Result<Value*> linear(Graph& graph, const Match& m) {
  Value *x = m.value("x"), *w = m.value("w");
  if (!is_float(x->dtype()) || w->rank() != 2 || x->rank() < 1) return static_cast<Value*>(nullptr);
  const auto attributes = get_attrs(*m.root(), false);  // only transpose_b, when it is set
  if (attributes.empty()) {
    QC_ASSIGN(w, graph.emit("transpose", {w}, {{"perm", Ints{1, 0}}}, m.loc(), m.root()));
  }
  return graph.emit("linear", {x, w}, {}, m.loc(), m.root());
}

}  // namespace

std::span<const Rewrite> matmul_rewrites() {
  static const std::vector<Rewrite> rewrites = {
      {"linear", Pattern::op("matmul", {Pattern::any("x"), Pattern::constant("w")}), linear},
  };
  return rewrites;
}

}  // namespace qc
