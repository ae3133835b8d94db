// Recurrent sequence mixers: LinearAttention as a loop over time that carries the state, and
// CausalConvWithState as a depthwise convolution of the state and the input.
#include "ir/op_table.h"
#include "kernels/numerics/math_f64.h"
#include "ops/common/compose.h"
#include "ops/common/importing.h"
#include "ops/common/registration.h"

namespace qc {
namespace {

/// [B, T, H*D] as [T, B, H, D] in `dtype`.
Value* time_first(Compose& c, Value* x, int64_t heads, DType dtype) {
  if (!c.ok()) return nullptr;
  if (x->rank() != 3 || !(mod(x->shape()[2], Dim(heads)) == Dim(0))) {
    c.fail(Code::shape, "expected [batch, time, {} heads], got {}", heads, str(x->shape()));
    return nullptr;
  }
  const Dims shape = {x->shape()[0], x->shape()[1], Dim(heads),
                      floordiv(x->shape()[2], Dim(heads))};
  return c("Transpose", {c.reshape(c.cast(x, dtype), shape)}, {{"perm", Ints{1, 0, 2, 3}}});
}

struct Rule {
  bool gated = false, delta = false;
  double scale = 1;
};

/// One step: the state after it and its output [B, Hq, dv]. Operands are those of step t.
std::pair<Value*, Value*> advance(Compose& c, const Rule& rule, Value* state, Value* q, Value* k,
                                  Value* v, Value* decay, Value* beta) {
  auto column = [&](Value* x) { return c("Unsqueeze", {x, c.ints({-1})}); };
  auto row = [&](Value* x) { return c("Unsqueeze", {x, c.ints({-2})}); };
  if (rule.gated) state = c("Mul", {state, column(c("Exp", {decay}))});
  Value* add = row(v);
  if (rule.delta) {
    add = c("Sub", {add, c("MatMul", {row(k), state})});
    add = c("Mul", {add, column(beta)});
  }
  state = c("Add", {state, c("Mul", {column(k), add})});
  if (!c.ok()) return {};
  // Query heads that share a key head are rows of one product.
  const Dims& s = state->shape();
  const Dims grouped = {s[0], s[1], floordiv(q->shape()[1], s[1]), s[2]};
  Value* out = c("MatMul", {c.reshape(q, grouped), state});
  out = c.reshape(out, {s[0], q->shape()[1], s[3]});
  return {state, c("Mul", {out, c.number(rule.scale, DType::f32)})};
}

Result<Values> linear_attention(Import& m) {
  Compose c(m);
  for (size_t i = 0; i < 3; ++i) c.take(operand(m, i));
  const int64_t hq = c.take(m.i("q_num_heads", 0)), hkv = c.take(m.i("kv_num_heads", 0));
  const std::string name = c.take(m.s("update_rule", "gated_delta"));
  Rule rule{name.starts_with("gated"), name.ends_with("delta"), c.take(m.f("scale", 0))};
  if (!c.ok()) return c.done({});
  if (hq < 1 || hkv < 1 || hq % hkv != 0) {
    return m.fail(Code::attribute, "{} query heads with {} key heads", hq, hkv);
  }
  if ((rule.gated && !m.has(4)) || (rule.delta && !m.has(5))) {
    return m.fail(Code::graph, "rule '{}' needs decay or beta, which are omitted", name);
  }
  const DType type = m.in(0)->dtype();
  Values steps = {time_first(c, m.in(0), hq, DType::f32), time_first(c, m.in(1), hkv, DType::f32),
                  time_first(c, m.in(2), hkv, DType::f32)};
  if (rule.gated) steps.push_back(time_first(c, m.in(4), hkv, DType::f32));
  if (rule.delta) {
    const bool shared = m.in(5)->rank() == 3 && m.in(5)->shape()[2] == Dim(1);
    steps.push_back(time_first(c, m.in(5), shared ? 1 : hkv, DType::f32));
  }
  if (!c.ok()) return c.done({});
  const Dims& k = steps[1]->shape();
  const Dims state_shape = {k[1], k[2], k[3], steps[2]->shape()[3]};
  if (!k[0].is_static() || !k[3].is_static()) {
    return m.fail(Code::dim,
                  "needs a fixed length and head size; bind their dimensions with --dim");
  }
  if (rule.scale == 0) rule.scale = 1.0 / qn_sqrt_f64(static_cast<double>(k[3].value()));
  Value* state = m.has(3) ? c.cast(m.in(3), DType::f32)
                          : c.emit("expand", {c.number(0, DType::f32)}, {{"shape", state_shape}});
  if (!c.ok()) return c.done({});

  auto body = m.graph().new_region();
  Import inner(*body, m.node());
  Compose b(inner);
  Value* trip = body->add_input("trip", Type(DType::i64, {}));
  Value* go = body->add_input("go", Type(DType::boolean, {}));
  Value* before = body->add_input("state", state->type());
  Values now;
  for (Value* s : steps) {
    Value* all = s->is_constant() ? body->constant(s->constant()) : body->add_input("", s->type());
    now.push_back(b("Gather", {all, trip}));
  }
  Value* decay = rule.gated ? now[3] : nullptr;
  Value* beta = rule.delta ? now.back() : nullptr;
  const auto [after, out] = advance(b, rule, before, now[0], now[1], now[2], decay, beta);
  if (!b.ok()) return b.done({});
  body->add_output("go", go);
  body->add_output("state", after);
  body->add_output("out", out);
  std::unique_ptr<Node> loop = op_table().find("loop")->create();
  QC_TRY(set_attrs(*loop, {{"carried", int64_t{1}}}, m.loc()));
  loop->add_region(std::move(body));
  Values inputs = {m.scalar_int(k[0].value(), DType::i64), nullptr, state};
  for (Value* s : steps) {
    if (!s->is_constant()) inputs.push_back(s);
  }
  QC_ASSIGN(Node * added, m.graph().add(std::move(loop), std::move(inputs), m.loc()));
  Value* stacked = c("Transpose", {added->output(1)}, {{"perm", Ints{1, 0, 2, 3}}});
  if (!c.ok()) return c.done({});
  const Dims& o = stacked->shape();
  return c.done({c.cast(c.reshape(stacked, {o[0], o[1], o[2] * o[3]}), type),
                 c.cast(added->output(0), m.has(3) ? m.in(3)->dtype() : type)});
}

Result<Values> causal_conv(Import& m) {
  Compose c(m);
  Value* x = c.take(operand(m, 0));
  Value* w = c.take(operand(m, 1));
  const std::string activation = c.take(m.s("activation", "none"));
  if (!c.ok()) return c.done({});
  if (x->rank() != 3 || w->rank() != 3 || !w->shape()[0].is_static() ||
      !w->shape()[2].is_static() || w->shape()[2].value() < 1) {
    return m.fail(Code::shape, "convolution of {} with weights {}", str(x->shape()),
                  str(w->shape()));
  }
  const int64_t past = w->shape()[2].value() - 1;
  Value* padded = x;
  if (m.has(3)) {
    padded = c("Concat", {m.in(3), x}, {{"axis", int64_t{2}}});
  } else if (past > 0) {
    padded = c("Pad", {x, c.ints({past, 0}), nullptr, c.ints({2})});
  }
  Values operands = {padded, w};
  if (m.has(2)) operands.push_back(m.in(2));
  Value* y = c("Conv", operands, {{"group", w->shape()[0].value()}});
  if (activation == "silu" || activation == "swish") {
    y = c("Mul", {y, c("Sigmoid", {y})});
  } else if (activation != "none") {
    return m.fail(Code::attribute, "activation '{}'", activation);
  }
  if (!m.wants(1)) return c.done({y});
  if (!c.ok() || !padded->shape()[2].is_static()) {
    c.fail(Code::dim, "the next state needs a fixed length; bind its dimension with --dim");
    return c.done({});
  }
  const int64_t length = padded->shape()[2].value();
  Value* next = c("Slice", {padded, c.ints({length - past}), c.ints({length}), c.ints({2})});
  return c.done({y, next});
}

constexpr ImportRow kRows[] = {
    {"", "LinearAttention", linear_attention, 27},
    {"", "CausalConvWithState", causal_conv, 27},
};

}  // namespace

void register_linear_attention(Registration& r) { r.imports(kRows); }

}  // namespace qc
