// Rotary embeddings as models write them, back to one op: x * cos + r(x) * sin, r(x) being the
// halves of x swapped and the new first one negated, or neighbours likewise.
#include "ir/op_table.h"
#include "ops/rotary/rotary.h"

namespace qc {
namespace {

using P = Pattern;

P part(const char* slot) { return P::op("slice", {P::any("x")}, slot); }
P negated() {
  return P::either(
      {P::op("neg", {part("negated")}), P::op("mul", {part("negated"), P::constant("", -1)})});
}
P turned(P pairs) {
  return P::op("add", {P::op("mul", {P::any("x"), P::any("cos")}),
                       P::op("mul", {std::move(pairs), P::any("sin")})});
}
P halves() { return turned(P::op("concat", {negated(), part("kept")}, "pairs")); }
P neighbours() {
  const P first = P::either(
      {P::op("reshape", {negated()}), P::op("neg", {P::op("reshape", {part("negated")})})});
  return turned(
      P::op("reshape", {P::op("concat", {first, P::op("reshape", {part("kept")})}, "pairs")}));
}

template <class T>
T attribute(const Node& node, std::string_view name) {
  for (const auto& [key, value] : get_attrs(node)) {
    if (key == name) return std::get<T>(value);
  }
  return T{};
}

/// Whether the slice takes every `step`-th element from `start` on along the last axis, half of
/// them, and all along the others.
bool takes_half(const Node& slice, int64_t start, int64_t step) {
  Dims from(slice.input(0)->shape().size(), Dim(0)), size = slice.input(0)->shape();
  Dims by(from.size(), Dim(1));
  if (from.empty() || !size.back().is_static() || size.back().value() % 2 != 0) return false;
  from.back() = Dim(start);
  size.back() = Dim(size.back().value() / 2);
  by.back() = Dim(step);
  return attribute<Dims>(slice, "start") == from && attribute<Dims>(slice, "size") == size &&
         attribute<Dims>(slice, "step") == by;
}

constexpr Value* kNotHere = nullptr;

Result<Value*> rotary(Graph& graph, const Match& m, bool interleaved) {
  Value* x = m.value("x");
  const Type& result = m.root()->output()->type();
  if (!is_float(x->dtype()) || bits(x->dtype()) < 16 || x->rank() < 1 || x->rank() > 8 ||
      x->shape() != result.shape || !x->shape().back().is_static())
    return kNotHere;
  const int64_t half = x->shape().back().value() / 2, step = interleaved ? 2 : 1;
  const int64_t axis = attribute<int64_t>(*m.node("pairs"), "axis");
  if (axis != x->rank() - (interleaved ? 0 : 1) ||
      !takes_half(*m.node("negated"), interleaved ? 1 : half, step) ||
      !takes_half(*m.node("kept"), 0, step))
    return kNotHere;
  if (interleaved) {  // the concatenated parts must be columns: [..., half, 1]
    Dims columns = x->shape();
    columns.back() = Dim(half);
    columns.push_back(Dim(1));
    for (const Value* v : m.node("pairs")->inputs()) {
      if (v->shape() != columns) return kNotHere;
    }
  }
  for (const char* slot : {"cos", "sin"}) {
    const Value* angles = m.value(slot);
    auto both = broadcast(x->shape(), angles->shape(), m.loc());
    if (angles->dtype() != x->dtype() || !both.ok() || *both != x->shape()) return kNotHere;
  }
  return graph.emit("rotary", {x, m.value("cos"), m.value("sin")}, {{"interleaved", interleaved}},
                    m.loc(), m.root());
}

Result<Value*> by_halves(Graph& graph, const Match& m) { return rotary(graph, m, false); }
Result<Value*> by_neighbours(Graph& graph, const Match& m) { return rotary(graph, m, true); }

/// Angles for a value whose axis i is axis perm[i] of the value they were for: a view of them, null
/// where they would have to be moved.
Result<Value*> turned_back(Graph& graph, const Match& m, Value* angles, const Ints& perm) {
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

/// rotary(transpose(x)) = transpose(rotary(x)) where rows stay rows: what is turned then is what a
/// product gave, and attention reads it in any order.
Result<Value*> before_transpose(Graph& graph, const Match& m) {
  const Node& root = *m.root();
  const Ints perm = attribute<Ints>(*m.node("transpose"), "perm");
  if (perm.empty() || perm.back() != std::ssize(perm) - 1 || attribute<int64_t>(root, "count") >= 0)
    return kNotHere;
  std::vector<Value*> inputs{m.value("x")};
  for (const char* slot : {"cos", "sin"}) {
    QC_ASSIGN(Value * angles, turned_back(graph, m, m.value(slot), perm));
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
      {"rotary_by_halves", halves(), by_halves},
      {"rotary_by_neighbours", neighbours(), by_neighbours},
      {"rotary_before_transpose",
       P::op("rotary",
             {P::op("transpose", {P::any("x")}, "transpose"), P::any("cos"), P::any("sin")}),
       before_transpose},
  };
  return rewrites;
}

}  // namespace qc
