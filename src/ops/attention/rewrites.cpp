// Attention written out as two matrix products around a softmax, back to one op.
#include <cmath>

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

/// cap * tanh(x / cap), or x.
P capped(const P& x) {
  const P steep = P::either(
      {P::op("div", {x, P::constant("cap_below")}), P::op("mul", {x, P::constant("cap_by")})});
  return P::either({P::op("mul", {P::op("tanh", {steep}), P::constant("cap")}), x});
}

P weights_times_values() {
  const P raw = regrouped(
      product(regrouped(scaled("q", "q_factor")), regrouped(scaled("k", "k_factor")), "scores"));
  const P early = P::op("add", {raw, P::any("unscaled")});
  const P scores = capped(P::either({P::op("mul", {early, P::constant("factor")}),
                                     P::op("div", {early, P::constant("divisor")}),
                                     P::op("mul", {raw, P::constant("factor")}),
                                     P::op("div", {raw, P::constant("divisor")}), raw}));
  const P biased = P::op("add", {scores, P::any("bias")});
  const P masked = P::either({P::op("add", {regrouped(biased), P::any("mask")}),
                              P::op("where", {P::any("hidden"), P::constant("fill"), biased}),
                              P::op("add", {scores, P::any("mask")}), scores});
  return product(regrouped(P::op("softmax", {masked}, "softmax")), regrouped(P::any("v")), "sum");
}

/// The limit of the scores, 0 for none; nullopt when the parts of it do not belong together.
std::optional<double> softcap_of(const Match& m) {
  if (!m.has("cap")) return 0;
  const std::optional<double> cap = m.scalar("cap");
  const std::optional<double> part = m.scalar(m.has("cap_by") ? "cap_by" : "cap_below");
  if (!cap || !part || !(*cap > 0) || *part == 0) return std::nullopt;
  const double below = m.has("cap_by") ? 1 / *part : *part;
  if (std::abs(below - *cap) > 1e-6 * *cap) return std::nullopt;
  return cap;
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

/// The keys [batch, heads, keys, depth] of which batch and heads were joined before their last two
/// axes were swapped; null for others.
Value* before_joined_swap(const Value* value) {
  const Node* swap = value->def();
  if (!has_perm(swap, {0, 2, 1})) return nullptr;
  const Value* joined = swap->input(0);
  const Node* reshape = joined->def();
  if (!reshape || reshape->op() != "reshape" || reshape->input(0)->rank() != 4) return nullptr;
  const Dims& s = reshape->input(0)->shape();
  return joined->shape() == Dims{s[0] * s[1], s[2], s[3]} ? reshape->input(0) : nullptr;
}

/// The operand itself where it has rank 4: a reshape before it was none of batch and heads.
Value* grouped(Value* operand, Value* slot, bool is_scaled) {
  return operand->rank() == 4 && !is_scaled ? operand : slot;
}

/// Whether rows in which every key is masked are NaN; nullopt where the softmax is not along the
/// keys.
std::optional<bool> makes_nan_rows(const Match& m) {
  bool last_axis = false, zeros = false;
  for (const auto& [name, value] : get_attrs(*m.node("softmax"))) {
    if (name == "axis")
      last_axis = value == AttrValue(int64_t{-1}) || value == AttrValue(int64_t{3});
    if (name == "zero") zeros = !(value == AttrValue(std::string("none")));
  }
  if (!last_axis) return std::nullopt;
  return (m.has("mask") || m.has("hidden") || m.has("unscaled")) && !zeros;
}

/// What is added to scores with batch and heads joined, as what is added to those of shape
/// `scores`; null where it is not.
Result<Value*> regrouped_bias(Graph& graph, const Match& m, Value* bias, const Dims& scores) {
  const Dims& s = bias->shape();
  if (m.node("scores")->output()->rank() != 3 || s.size() != 3) return bias;
  const bool one = s[0] == Dim(1);
  if (!one && !(s[0] == scores[0] * scores[1])) return nullptr;
  const Dims shape{one ? Dim(1) : scores[0], one ? Dim(1) : scores[1], s[1], s[2]};
  return graph.emit("reshape", {bias}, {{"shape", shape}}, m.loc(), m.root());
}

/// All that is added to the scores; null where it would take more room than its parts and is not
/// known now. Scores that are replaced by a number far below all others might as well have it
/// added.
Result<Value*> mask_of(Graph& graph, const Match& m, const Dims& scores) {
  constexpr double kFarBelow = -1e30;
  const bool hides = m.has("hidden");
  if (hides && !(m.scalar("fill").value_or(0) <= kFarBelow)) return nullptr;
  Value* mask = m.value(hides ? "hidden" : "mask");
  if (!m.has("bias")) return mask;
  const bool known = m.value("bias")->is_constant() && mask->is_constant();
  QC_ASSIGN(Value * bias, regrouped_bias(graph, m, m.value("bias"), scores));
  if (!bias) return bias;
  auto both = broadcast(bias->shape(), mask->shape(), m.loc());
  if (!both.ok() || (!known && *both != bias->shape() && *both != mask->shape()))
    return static_cast<Value*>(nullptr);
  if (hides) return graph.emit("where", {mask, m.value("fill"), bias}, {}, m.loc(), m.root());
  return graph.emit("add", {bias, mask}, {}, m.loc(), m.root());
}

/// What is added to the scores before they are scaled, scaled itself.
Result<Value*> scaled_mask(Graph& graph, const Match& m) {
  const char* slot = m.has("factor") ? "factor" : "divisor";
  return graph.emit(m.has("factor") ? "mul" : "div", {m.value("unscaled"), m.value(slot)}, {},
                    m.loc(), m.root());
}

Result<Value*> one_attention(Graph& graph, const Match& m) {
  const Node &scores = *m.node("scores"), &sum = *m.node("sum");
  Value* const none = nullptr;
  Value* const q = grouped(scores.input(0), m.value("q"), m.has("q_factor"));
  Value* k = grouped(scores.input(1), m.value("k"), m.has("k_factor"));
  Value* const v = grouped(sum.input(1), m.value("v"), false);
  Value* const early = is_transposed(scores) ? nullptr : before_joined_swap(k);
  if (early) k = early;
  const Value& p = *m.node("softmax")->output();
  for (const Value* part : std::initializer_list<const Value*>{q, k, v, &p}) {
    if (part->rank() != 4 || part->dtype() != DType::f32) return none;
  }
  const bool in_order = is_transposed(scores) || early;
  const Dims &qs = q->shape(), &vs = v->shape();
  Dims ks = k->shape();
  if (!in_order) std::swap(ks[2], ks[3]);
  const bool fits = qs[1].is_static() && qs[0] == ks[0] && qs[1] == ks[1] && qs[0] == vs[0] &&
                    qs[1] == vs[1] && qs[3] == ks[3] && ks[2] == vs[2] &&
                    p.shape() == Dims{qs[0], qs[1], qs[2], ks[2]} &&
                    m.root()->output()->shape() == Dims{qs[0], qs[1], qs[2], vs[3]};
  const std::optional<double> scale = scale_of(m), softcap = softcap_of(m);
  const std::optional<bool> nan_rows = makes_nan_rows(m);
  if (!fits || !scale || !softcap || !nan_rows || is_transposed(sum)) return none;
  Value* mask = nullptr;
  if (m.has("unscaled")) {
    if (m.has("mask") || m.has("hidden") || m.has("cap") || m.value("unscaled")->rank() > 4)
      return none;
    QC_ASSIGN(mask, scaled_mask(graph, m));
  } else if (m.has("mask") || m.has("hidden")) {
    QC_ASSIGN(mask, mask_of(graph, m, p.shape()));
    if (!mask || mask->rank() > 4) return none;
  }
  if (!in_order) {
    QC_ASSIGN(k, swapped(graph, m, k));
  }
  std::vector<Value*> inputs = {q, k, v};
  if (mask) inputs.push_back(mask);
  return graph.emit(
      "attention", inputs,
      {{"scale", written_scale(*scale, q)}, {"softcap", *softcap}, {"nan_rows", *nan_rows}},
      m.loc(), m.root());
}

/// What is repeated for the heads that share it: x [b, heads, n, d] as a value [b, heads, 1, n, d]
/// expanded to [b, heads, shared, n, d] and seen as [b, heads * shared, n, d]; null for others.
Value* repeated(const Value* x) {
  const Node* expand = x->def();
  while (expand && expand->op() == "reshape") expand = expand->input(0)->def();
  if (!expand || expand->op() != "expand") return nullptr;
  Value* once = expand->input(0);
  const Dims &from = once->shape(), &to = expand->output()->shape(), &all = x->shape();
  const bool fits = from.size() == 5 && to.size() == 5 && from[2] == Dim(1) && from[0] == to[0] &&
                    from[1] == to[1] && from[3] == to[3] && from[4] == to[4] &&
                    all == Dims{to[0], to[1] * to[2], to[3], to[4]};
  return fits ? once : nullptr;
}

/// Keys and values that are repeated for several heads are read by those heads instead.
Result<Value*> shared_heads(Graph& graph, const Match& m) {
  Value* const none = nullptr;
  std::vector<Value*> inputs = m.root()->inputs();
  Value* const once[] = {repeated(inputs[kK]), repeated(inputs[kV])};
  for (const Value* v : once) {
    if (!v || !v->shape()[1].is_static() || v->shape()[1] != once[0]->shape()[1]) return none;
  }
  for (size_t i : {kK, kV}) {
    Value* const five = once[i - kK];
    const Dims s = five->shape(), four{s[0], s[1], s[3], s[4]};
    const bool given =
        five->def() && five->def()->op() == "reshape" && five->def()->input(0)->shape() == four;
    inputs[i] = given ? five->def()->input(0) : five;
    if (given) continue;
    QC_ASSIGN(inputs[i], graph.emit("reshape", {five}, {{"shape", four}}, m.loc(), m.root()));
  }
  AttrMap attrs;
  for (const auto& [name, value] : get_attrs(*m.root(), false)) attrs[name] = value;
  return graph.emit("attention", std::move(inputs), attrs, m.loc(), m.root());
}

/// Heads of a result that are put side by side: attention writes them so itself.
Result<Value*> joined_heads(Graph& graph, const Match& m) {
  Value* const none = nullptr;
  const Value *rows = m.root()->input(0), *heads = m.value("heads");
  const Node* attention = heads->def();
  if (!attention || attention->op() != "attention" || heads->rank() != 4 ||
      !has_perm(rows->def(), {0, 2, 1, 3}) || !rows->has_one_use() || !heads->has_one_use())
    return none;
  const Dims& s = heads->shape();
  const Dims joined{s[0], s[2], s[1] * s[3]}, &shape = m.root()->output()->shape();
  if (shape.empty() || !(shape.back() == joined.back())) return none;
  AttrMap attrs;
  for (const auto& [name, value] : get_attrs(*attention, false)) attrs[name] = value;
  attrs["joined"] = true;
  QC_ASSIGN(Value * y,
            graph.emit("attention", attention->inputs(), attrs, attention->loc(), m.root()));
  if (shape == joined) return y;
  return graph.emit("reshape", {y}, {{"shape", shape}}, m.loc(), m.root());
}

}  // namespace

std::span<const Rewrite> attention_rewrites() {
  static const std::vector<Rewrite> rewrites = {
      {"attention", weights_times_values(), one_attention},
      {"attention_regrouped", P::op("reshape", {weights_times_values()}), one_attention},
      {"attention_shared_heads", P::op("attention", {P::any("q"), P::any("k"), P::any("v")}),
       shared_heads},
      {"attention_shared_heads_masked",
       P::op("attention", {P::any("q"), P::any("k"), P::any("v"), P::any("m")}), shared_heads},
      {"attention_joined_heads", P::op("reshape", {P::op("transpose", {P::any("heads")})}),
       joined_heads},
  };
  return rewrites;
}

}  // namespace qc
