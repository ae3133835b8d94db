// Attention written out as two matrix products around a softmax, back to one op.
#include "ir/op_table.h"
#include "ops/attention/attention.h"

namespace qc {
namespace {

using P = Pattern;

/// A step that only joins or splits batch and heads.
P regrouped(P value) { return P::maybe("reshape", std::move(value)); }
P product(P a, P b, const char* slot) { return P::op("matmul", {std::move(a), std::move(b)}, slot); }
/// The value of a slot, scaled by a constant or not.
P scaled(const char* slot, const char* factor) {
  return P::either({P::op("mul", {P::any(slot), P::constant(factor)}), P::any(slot)});
}

P weights_times_values() {
  const P raw = regrouped(product(regrouped(scaled("q", "q_factor")), regrouped(scaled("k", "k_factor")), "scores"));
  const P scores = P::either({P::op("mul", {raw, P::constant("factor")}), P::op("div", {raw, P::constant("divisor")}), raw});
  const P masked = P::either({P::op("add", {scores, P::any("mask")}), scores});
  return product(regrouped(P::op("softmax", {masked}, "softmax")), regrouped(P::any("v")), "sum");
}

/// The product of all scale factors; nullopt when one is not a single number.
std::optional<double> scale_of(const Match& m) {
  double scale = 1;
  for (const char* slot : {"q_factor", "k_factor", "factor", "divisor"}) {
    if (!m.has(slot)) continue;
    const std::optional<double> factor = m.scalar(slot);
    if (!factor || *factor == 0) return std::nullopt;
    scale = slot == std::string_view("divisor") ? scale / *factor : scale * *factor;
  }
  return scale;
}

bool is_transposed(const Node& product) {
  for (const auto& [name, value] : get_attrs(product)) {
    if (name == "transpose_b") return value == AttrValue(true);
  }
  return false;
}

/// The value with its last two axes swapped.
Result<Value*> swapped(Graph& graph, const Match& m, Value* value) {
  const Ints swap = {0, 1, 3, 2};
  if (Node* def = value->def(); def && def->op() == "transpose") {
    for (const auto& [name, perm] : get_attrs(*def)) {
      if (name == "perm" && perm == AttrValue(swap)) return def->input(0);
    }
  }
  return graph.emit("transpose", {value}, {{"perm", swap}}, m.loc(), m.root());
}

/// Rows in which every key is masked give zeros in one attention op, so a softmax that makes NaN of them
/// is left alone where there is a mask.
bool rows_agree(const Match& m) {
  bool last_axis = false, zeros = !m.has("mask");
  for (const auto& [name, value] : get_attrs(*m.node("softmax"))) {
    if (name == "axis") last_axis = value == AttrValue(int64_t{-1}) || value == AttrValue(int64_t{3});
    if (name == "zero") zeros = zeros || !(value == AttrValue(std::string("none")));
  }
  return last_axis && zeros;
}

Result<Value*> one_attention(Graph& graph, const Match& m) {
  Value *const none = nullptr, *const q = m.value("q"), *const v = m.value("v");
  Value* k = m.value("k");
  const Value& p = *m.node("softmax")->output();
  for (const Value* part : std::initializer_list<const Value*>{q, k, v, &p}) {
    if (part->rank() != 4 || part->dtype() != DType::f32) return none;
  }
  const bool in_order = is_transposed(*m.node("scores"));
  const Dims &qs = q->shape(), &vs = v->shape();
  Dims ks = k->shape();
  if (!in_order) std::swap(ks[2], ks[3]);
  const bool fits = qs[1].is_static() && qs[0] == ks[0] && qs[1] == ks[1] && qs[0] == vs[0] && qs[1] == vs[1] &&
                    qs[3] == ks[3] && ks[2] == vs[2] && p.shape() == Dims{qs[0], qs[1], qs[2], ks[2]} &&
                    m.root()->output()->shape() == Dims{qs[0], qs[1], qs[2], vs[3]};
  const std::optional<double> scale = scale_of(m);
  if (!fits || !scale || !rows_agree(m) || is_transposed(*m.node("sum"))) return none;
  if (!in_order) {
    QC_ASSIGN(k, swapped(graph, m, k));
  }
  std::vector<Value*> inputs = {q, k, v};
  if (m.has("mask")) inputs.push_back(m.value("mask"));
  return graph.emit("attention", inputs, {{"scale", *scale}}, m.loc(), m.root());
}

}  // namespace

std::span<const Rewrite> attention_rewrites() {
  static const std::vector<Rewrite> rewrites = {
      {"attention", weights_times_values(), one_attention},
      {"attention_regrouped", P::op("reshape", {weights_times_values()}), one_attention},
  };
  return rewrites;
}

}  // namespace qc
