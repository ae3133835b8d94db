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

/// Projection of the input to queries, keys and values, and attention over them.
Result<Values> fused_attention(Import& m) {
  Compose c(m);
  Value* x = c.take(operand(m, 0));
  Value* w = c.take(operand(m, 1));
  const int64_t heads = c.take(m.i("num_heads", 0));
  const bool causal = c.take(m.b("unidirectional", false));
  const double scale = c.take(m.f("scale", 0)), filter = c.take(m.f("mask_filter_value", -10000));
  if (!c.ok()) return c.done({});
  if (m.has(4) || m.has(6) || m.given("qkv_hidden_sizes") || c.take(m.b("do_rotary", false))) {
    return m.fail(Code::unsupported, "past values, own sizes of q, k, v and rotary embedding");
  }
  if (x->rank() != 3 || w->rank() != 2 || !w->shape()[1].is_static() || heads < 1 ||
      w->shape()[1].value() % (3 * heads) != 0) {
    return m.fail(Code::shape, "{} heads of {} with weights {}", heads, str(x->shape()),
                  str(w->shape()));
  }
  const int64_t hidden = w->shape()[1].value() / 3;
  Value* qkv = c("MatMul", {x, w});
  if (m.has(2)) qkv = c("Add", {qkv, m.in(2)});
  Value* mask = nullptr;
  if (m.has(3)) {
    Value* given = m.in(3);
    if (given->rank() != 2 || !(given->shape()[1] == x->shape()[1])) {
      return m.fail(Code::unsupported, "a mask of shape {}; [batch, length] is supported",
                    str(given->shape()));
    }
    Value* off = c("Sub", {c.number(1, x), c.cast(given, x->dtype())});
    mask = c.reshape(c("Mul", {off, c.number(filter, x)}),
                     {given->shape()[0], Dim(1), Dim(1), given->shape()[1]});
  }
  if (m.has(5)) mask = mask ? c("Add", {mask, m.in(5)}) : m.in(5);
  Values parts;
  for (int64_t i = 0; i < 3; ++i) {
    parts.push_back(
        c("Slice", {qkv, c.ints({i * hidden}), c.ints({(i + 1) * hidden}), c.ints({2})}));
  }
  if (mask) parts.push_back(mask);
  Compose::Args args = {
      {"q_num_heads", heads}, {"kv_num_heads", heads}, {"is_causal", int64_t{causal}}};
  if (scale != 0) args.emplace_back("scale", scale);
  return c.done({c("Attention", parts, args)});
}

constexpr ImportRow kRows[] = {
    {"com.microsoft", "EmbedLayerNormalization", embed_layer_norm},
    {"com.microsoft", "Attention", fused_attention},
};

}  // namespace

void register_ort_fused(Registration& r) { r.imports(kRows); }

}  // namespace qc
