// Rotations of transposed values.
#include "ir/op_table.h"
#include "ops/common/attribute.h"
#include "ops/rotary/rotary.h"

namespace qc {
namespace {

using P = Pattern;

constexpr Value* kNotHere = nullptr;

/// Angles for a value whose axis i is axis perm[i] of the value they were for: a view of them, null
/// where they would have to be moved.
Result<Value*> rotated_back(Graph& graph, const Match& m, Value* angles, const Ints& perm) {
  Dims full(perm.size() - angles->shape().size(), Dim(1)), shape(perm.size(), Dim(1));
  full.insert(full.end(), angles->shape().begin(), angles->shape().end());
  int64_t last = -1;
  for (size_t i = 0; i < perm.size(); ++i) {
    shape[static_cast<size_t>(perm[i])] = full[i];
    if (full[i] == Dim(1)) continue;
    if (perm[i] < last) return kNotHere;
    last = perm[i];
  }
  if (shape == angles->shape()) return angles;
  return graph.emit("reshape", {angles}, {{"shape", shape}}, m.loc(), m.root());
}

/// rotary(transpose(x)) = transpose(rotary(x)) where rows stay rows: what is rotated then is what a
/// product gave, and attention reads it in any order.
Result<Value*> before_transpose(Graph& graph, const Match& m) {
  const Node& root = *m.root();
  const Ints perm = attribute<Ints>(*m.node("transpose"), "perm");
  if (perm.empty() || perm.back() != std::ssize(perm) - 1 || attribute<int64_t>(root, "count") >= 0)
    return kNotHere;
  std::vector<Value*> inputs{m.value("x")};
  for (const char* slot : {"cos", "sin"}) {
    QC_ASSIGN(Value * angles, rotated_back(graph, m, m.value(slot), perm));
    if (!angles) return kNotHere;
    inputs.push_back(angles);
  }
  QC_ASSIGN(Value * y,
            graph.emit("rotary", inputs, {{"interleaved", attribute<bool>(root, "interleaved")}},
                       root.loc(), m.root()));
  return graph.emit("transpose", {y}, {{"perm", perm}}, m.node("transpose")->loc(), m.root());
}

}  // namespace

std::span<const Rewrite> rotary_rewrites() {
  static const Rewrite rewrites[] = {
      {"rotary_before_transpose",
       P::op("rotary",
             {P::op("transpose", {P::any("x")}, "transpose"), P::any("cos"), P::any("sin")}),
       before_transpose},
  };
  return rewrites;
}

}  // namespace qc
