// Fused float ops that ONNX Runtime's optimizer writes, taken apart again.
#include "ops/common/compose.h"
#include "ops/common/importing.h"
#include "ops/common/registration.h"

namespace qc {
namespace {

/// Layer norm of the sum of word, position and segment embeddings.
Result<Values> embed_layer_norm(Import& m) {
  Compose c(m);
  for (size_t i : {0, 2, 3, 5, 6}) c.take(operand(m, i));
  const double epsilon = c.take(m.f("epsilon", 1e-12f));
  if (!c.ok()) return c.done({});
  Value* ids = m.in(0);
  if (ids->rank() != 2)
    return m.fail(Code::shape, "ids must be [batch, length], got {}", str(ids->shape()));
  Value* positions = m.in(8);
  if (!positions) {
    const Dim length = ids->shape()[1];
    if (!length.is_static() || length.value() > (1 << 20))
      return m.fail(Code::dim, "length {} must be known", length.str());
    Ints all;
    for (int64_t i = 0; i < length.value(); ++i) all.push_back(i);
    positions = c.ints(all);
  }
  Value* sum = c("Add", {c("Gather", {m.in(2), ids}), c("Gather", {m.in(3), positions})});
  if (m.has(1) && m.has(4)) sum = c("Add", {sum, c("Gather", {m.in(4), m.in(1)})});
  Value* y = c("LayerNormalization", {sum, m.in(5), m.in(6)},
               {{"axis", int64_t{-1}}, {"epsilon", epsilon}});
  Value* lengths = nullptr;
  if (m.wants(1) && m.has(7)) {
    lengths =
        c.cast(c("ReduceSum", {m.in(7), c.ints({1})}, {{"keepdims", int64_t{0}}}), DType::i32);
  }
  return c.done({y, lengths, sum});
}

/// What the attention ops of ONNX Runtime say alike.
struct Attention {
  int64_t heads = 0;
  bool causal = false;
  double scale = 0, filter = 0;  // 0: 1 / sqrt(head size); what masked scores are lowered by
};
Attention read_attention(Compose& c) {
  const Import& m = c.import();
  return {c.take(m.i("num_heads", 0)), c.take(m.b("unidirectional", false)),
          c.take(m.f("scale", 0)), c.take(m.f("mask_filter_value", -10000))};
}

/// Attention over q, k, v [batch, length, heads * size]. `kept` [batch, length of k] is 0 for keys
/// that are not looked at, `added` is added to scores; both may be null.
Value* attend(Compose& c, const Attention& how, Values qkv, Value* mask_in, Value* added) {
  const Value* q = qkv[0];
  Value* mask = added;
  if (mask_in) {
    if (mask_in->rank() != 2 || !(mask_in->shape()[1] == qkv[1]->shape()[1])) {
      c.fail(Code::unsupported, "a mask of shape {}; [batch, length] is supported",
             str(mask_in->shape()));
      return nullptr;
    }
    Value* off = c("Sub", {c.number(1, q), c.cast(mask_in, q->dtype())});
    mask = c.reshape(c("Mul", {off, c.number(how.filter, q)}),
                     {mask_in->shape()[0], Dim(1), Dim(1), mask_in->shape()[1]});
    if (added) mask = c("Add", {mask, added});
  }
  if (mask) qkv.push_back(mask);
  Compose::Args args = {
      {"q_num_heads", how.heads}, {"kv_num_heads", how.heads}, {"is_causal", int64_t{how.causal}}};
  if (how.scale != 0) args.emplace_back("scale", how.scale);
  return c("Attention", qkv, args);
}

Value* last_axis_part(Compose& c, Value* x, int64_t from, int64_t to) {
  return c("Slice", {x, c.ints({from}), c.ints({to}), c.ints({x->rank() - 1})});
}

/// Projection of the input to queries, keys and values, and attention over them.
Result<Values> fused_attention(Import& m) {
  Compose c(m);
  Value* x = c.take(operand(m, 0));
  Value* w = c.take(operand(m, 1));
  const Attention how = read_attention(c);
  if (!c.ok()) return c.done({});
  if (m.has(4) || m.has(6) || m.given("qkv_hidden_sizes") || c.take(m.b("do_rotary", false))) {
    return m.fail(Code::unsupported, "past values, own sizes of q, k, v and rotary embedding");
  }
  if (x->rank() != 3 || w->rank() != 2 || !w->shape()[1].is_static() || how.heads < 1 ||
      w->shape()[1].value() % (3 * how.heads) != 0) {
    return m.fail(Code::shape, "{} heads of {} with weights {}", how.heads, str(x->shape()),
                  str(w->shape()));
  }
  const int64_t hidden = w->shape()[1].value() / 3;
  Value* all = c("MatMul", {x, w});
  if (m.has(2)) all = c("Add", {all, m.in(2)});
  Values qkv;
  for (int64_t i = 0; i < 3; ++i) {
    qkv.push_back(last_axis_part(c, all, i * hidden, (i + 1) * hidden));
  }
  return c.done({attend(c, how, std::move(qkv), m.in(3), m.in(5))});
}

/// Attention over queries, keys and values of rank 3, to which a part of one bias is added each.
Result<Values> multi_head_attention(Import& m) {
  Compose c(m);
  Values qkv;
  for (size_t i : {0, 1, 2}) qkv.push_back(c.take(operand(m, i)));
  const Attention how = read_attention(c);
  if (!c.ok()) return c.done({});
  for (size_t i = 6; i < m.input_count(); ++i) {
    if (m.has(i)) return m.fail(Code::unsupported, "past values");
  }
  int64_t from = 0;
  for (Value*& part : qkv) {
    if (part->rank() != 3 || !part->shape()[2].is_static() || how.heads < 1 ||
        part->shape()[2].value() % how.heads != 0) {
      return m.fail(Code::unsupported, "{} heads of {}; [batch, length, heads * size] is supported",
                    how.heads, str(part->shape()));
    }
    const int64_t to = from + part->shape()[2].value();
    if (m.has(3)) part = c("Add", {part, last_axis_part(c, m.in(3), from, to)});
    from = to;
  }
  if (m.has(3) && !(m.in(3)->shape() == Dims{Dim(from)})) {
    return m.fail(Code::shape, "a bias {} for {} numbers", str(m.in(3)->shape()), from);
  }
  return c.done({attend(c, how, std::move(qkv), m.in(4), m.in(5))});
}

constexpr ImportRow kRows[] = {
    {"com.microsoft", "EmbedLayerNormalization", embed_layer_norm},
    {"com.microsoft", "Attention", fused_attention},
    {"com.microsoft", "MultiHeadAttention", multi_head_attention},
};

}  // namespace

void register_ort_fused(Registration& r) { r.imports(kRows); }

}  // namespace qc
