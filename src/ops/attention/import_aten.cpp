#include "ops/attention/compose.h"
#include "ops/common/range.h"

namespace qc {
namespace {

/// A tensor [..., heads, positions, depth] with its leading axes expanded to `batch` and made one.
Result<Value*> with_one_batch(const Import& m, Value* x, const Dims& batch) {
  const size_t rank = x->shape().size();
  Dims own = x->shape(),
       inner(own.end() - static_cast<std::ptrdiff_t>(std::min<size_t>(rank, 3)), own.end());
  while (inner.size() < 3) inner.insert(inner.begin(), Dim(1));
  Dims expanded = batch;
  expanded.insert(expanded.end(), inner.begin(), inner.end());
  const bool leading = rank > 3 && Dims(own.begin(), own.end() - 3) != batch;
  if (leading || (rank <= 3 && !(product(batch) == Dim(1)))) {
    QC_ASSIGN(x, m.emit("expand", {x}, {{"shape", expanded}}));
  }
  return reshaped(m, x, {product(batch), inner[0], inner[1], inner[2]});
}

/// The mask with four axes; leading ones are made one, as those of the operands are.
Result<Value*> with_mask_axes(const Import& m, Value* mask, const Dims& batch) {
  if (mask->rank() <= 3 || (mask->rank() == 4 && batch.size() <= 1)) return mask;
  return with_one_batch(m, mask, batch);
}

/// scaled_dot_product_attention and the forms PyTorch picks for it.
Result<Values> aten_attention(Import& m) {
  AttentionCall c;
  QC_ASSIGN(c.q, m.tensor("query"));
  QC_ASSIGN(c.k, m.tensor("key"));
  QC_ASSIGN(c.v, m.tensor("value"));
  QC_ASSIGN(c.mask, m.optional_tensor(m.given("attn_bias") ? "attn_bias" : "attn_mask"));
  QC_ASSIGN(double dropout, m.f("dropout_p", 0));
  QC_ASSIGN(bool causal, m.b("is_causal", false));
  if (dropout != 0) return m.fail(Code::unsupported, "dropout of {} in attention", dropout);
  if (m.given("scale")) {
    QC_ASSIGN(c.scale, m.f("scale", 0));
    if (c.scale == 0) return m.fail(Code::unsupported, "attention with a scale of 0");
  }
  if (causal) c.right = 0;
  const Dims shape = c.q->shape();
  Dims batch;
  for (Value* v : {c.q, c.k, c.v}) {
    if (v->rank() < 2) return m.fail(Code::shape, "attention of an operand {}", str(v->type()));
    const Dims own = v->rank() > 3 ? Dims(v->shape().begin(), v->shape().end() - 3) : Dims{};
    QC_ASSIGN(batch, broadcast(batch, own, m.loc()));
  }
  // Three axes are [batch, positions, depth]: a batch of single heads lies like one of many heads.
  QC_ASSIGN(c.q, with_one_batch(m, c.q, batch));
  QC_ASSIGN(c.k, with_one_batch(m, c.k, batch));
  QC_ASSIGN(c.v, with_one_batch(m, c.v, batch));
  if (c.mask) {
    QC_ASSIGN(c.mask, with_mask_axes(m, c.mask, batch));
  }
  Value* y = nullptr;
  if (c.q->dtype() == DType::f64) {
    QC_ASSIGN(AttentionSteps s, emit_attention_steps(m, c, DType::f64));
    y = s.y;
  } else {
    QC_ASSIGN(y, emit_attention(m, c));
  }
  Dims result = batch;
  if (shape.size() > 2) result.push_back(y->shape()[1]);
  result.insert(result.end(), {y->shape()[2], y->shape()[3]});
  QC_ASSIGN(y, reshaped(m, y, result));
  return Values{y};
}

constexpr ImportRow kAtenRows[] = {
    {"aten", "scaled_dot_product_attention.default", aten_attention},
    {"aten", "_scaled_dot_product_attention_math.default", aten_attention},
    {"aten", "_scaled_dot_product_flash_attention.default", aten_attention},
    {"aten", "_scaled_dot_product_flash_attention_for_cpu.default", aten_attention},
    {"aten", "_scaled_dot_product_efficient_attention.default", aten_attention},
    {"aten", "_scaled_dot_product_cudnn_attention.default", aten_attention},
    {"aten", "_scaled_dot_product_fused_attention_overrideable.default", aten_attention},
};

}  // namespace

std::span<const ImportRow> attention_aten_rows() { return kAtenRows; }

}  // namespace qc
