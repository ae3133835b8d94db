// Attention written out as two matrix products around a softmax, back to one op.
#include "ir/op_table.h"
#include "ops/attention/attention.h"

namespace qc {
namespace {

using P = Pattern;

/// A step that only joins or splits batch and heads.
P regrouped(P value) { return P::maybe("reshape", std::move(value)); }
P product(P a, P b, const char* slot) {
  return P::op("matmul", {std::move(a), std::move(b)}, slot);
}
/// The value of a slot, scaled by a constant or not.
P scaled(const char* slot, const char* factor) {
  return P::either({P::op("mul", {P::any(slot), P::constant(factor)}), P::any(slot)});
}

P weights_times_values() {
  const P raw = regrouped(
      product(regrouped(scaled("q", "q_factor")), regrouped(scaled("k", "k_factor")), "scores"));
  const P scores = P::either({P::op("mul", {raw, P::constant("factor")}),
                              P::op("div", {raw, P::constant("divisor")}), raw});
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

bool has_perm(const Node* node, const Ints& perm) {
  if (!node || node->op() != "transpose") return false;
  for (const auto& [name, value] : get_attrs(*node)) {
    if (name == "perm") return value == AttrValue(perm);
  }
  return false;
}

/// The rank-4 value with its last two axes swapped; a swap that made it, with batch and heads
/// joined or apart, is taken back.
Result<Value*> swapped(Graph& graph, const Match& m, Value* value) {
  const Ints swap = {0, 1, 3, 2};
  Node* def = value->def();
  if (has_perm(def, swap)) return def->input(0);
  if (def && def->op() == "reshape" && has_perm(def->input(0)->def(), {0, 2, 1})) {
    Dims shape = value->shape();
    std::swap(shape[2], shape[3]);
    Value* joined = def->input(0)->def()->input(0);
    if (joined->shape() == Dims{shape[0] * shape[1], shape[2], shape[3]}) {
      return graph.emit("reshape", {joined}, {{"shape", shape}}, m.loc(), m.root());
    }
  }
  return graph.emit("transpose", {value}, {{"perm", swap}}, m.loc(), m.root());
}

/// The operand itself where it has rank 4: a reshape before it was none of batch and heads.
Value* grouped(Value* operand, Value* slot, bool is_scaled) {
  return operand->rank() == 4 && !is_scaled ? operand : slot;
}

/// Rows in which every key is masked give zeros in one attention op, so a softmax that makes NaN of
/// them is left alone where there is a mask.
bool rows_agree(const Match& m) {
  bool last_axis = false, zeros = !m.has("mask");
  for (const auto& [name, value] : get_attrs(*m.node("softmax"))) {
    if (name == "axis")
      last_axis = value == AttrValue(int64_t{-1}) || value == AttrValue(int64_t{3});
    if (name == "zero") zeros = zeros || !(value == AttrValue(std::string("none")));
  }
  return last_axis && zeros;
}

Result<Value*> one_attention(Graph& graph, const Match& m) {
  const Node &scores = *m.node("scores"), &sum = *m.node("sum");
  Value* const none = nullptr;
  Value* const q = grouped(scores.input(0), m.value("q"), m.has("q_factor"));
  Value* k = grouped(scores.input(1), m.value("k"), m.has("k_factor"));
  Value* const v = grouped(sum.input(1), m.value("v"), false);
  const Value& p = *m.node("softmax")->output();
  for (const Value* part : std::initializer_list<const Value*>{q, k, v, &p}) {
    if (part->rank() != 4 || part->dtype() != DType::f32) return none;
  }
  const bool in_order = is_transposed(scores);
  const Dims &qs = q->shape(), &vs = v->shape();
  Dims ks = k->shape();
  if (!in_order) std::swap(ks[2], ks[3]);
  const bool fits = qs[1].is_static() && qs[0] == ks[0] && qs[1] == ks[1] && qs[0] == vs[0] &&
                    qs[1] == vs[1] && qs[3] == ks[3] && ks[2] == vs[2] &&
                    p.shape() == Dims{qs[0], qs[1], qs[2], ks[2]} &&
                    m.root()->output()->shape() == Dims{qs[0], qs[1], qs[2], vs[3]};
  const std::optional<double> scale = scale_of(m);
  if (!fits || !scale || !rows_agree(m) || is_transposed(sum)) return none;
  if (!in_order) {
    QC_ASSIGN(k, swapped(graph, m, k));
  }
  std::vector<Value*> inputs = {q, k, v};
  if (m.has("mask")) inputs.push_back(m.value("mask"));
  return graph.emit("attention", inputs, {{"scale", written_scale(*scale, q)}}, m.loc(), m.root());
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
