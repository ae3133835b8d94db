#include "ops/attention/compose.h"
#include "ops/common/importing.h"
#include "ops/common/indexing.h"
#include "ops/common/range.h"

namespace qc {
namespace {

/// [batch, positions, heads * depth] as [batch, heads, positions, depth].
Result<Value*> split_heads(const Import& m, Value* x, int64_t heads) {
  const Dims s = x->shape();
  if (heads < 1 || (s[2].is_static() && s[2].value() % heads != 0)) {
    return m.fail(Code::attribute, "{} values of {} heads", s[2].str(), heads);
  }
  QC_ASSIGN(x, reshaped(m, x, {s[0], s[1], Dim(heads), floordiv(s[2], Dim(heads))}));
  return transposed(m, x, {0, 2, 1, 3});
}

/// A mask for fewer keys hides the others.
Result<Value*> padded_mask(const Import& m, Value* mask, const Dim& keys) {
  if (mask->rank() < 1 || mask->rank() > 4)
    return m.fail(Code::shape, "a mask of {} axes", mask->rank());
  const Dim own = mask->shape().back(), missing = keys - own;
  if (!missing.is_static() || missing.value() <= 0) return mask;
  const bool is_bool = mask->dtype() == DType::boolean;
  Value* fill = is_bool ? m.scalar_int(0, DType::boolean) : m.scalar(-kInf, mask->dtype());
  Dims shape = mask->shape();
  shape.back() = missing;
  QC_ASSIGN(fill, m.emit("expand", {fill}, {{"shape", shape}}));
  return m.emit("concat", {mask, fill}, {{"axis", mask->rank() - 1}});
}

enum OnnxOperands : size_t { kOnnxMask = 3, kPastKey, kPastValue, kValidKeys };

Result<Values> onnx_attention(Import& m) {
  AttentionCall c;
  QC_ASSIGN(c.q, operand(m, 0));
  QC_ASSIGN(c.k, operand(m, 1));
  QC_ASSIGN(c.v, operand(m, 2));
  const int64_t rank = c.q->rank();
  if ((rank != 3 && rank != 4) || c.k->rank() != rank || c.v->rank() != rank) {
    return m.fail(Code::shape, "query, key and value have {}, {} and {} axes, expected 3 or 4",
                  rank, c.k->rank(), c.v->rank());
  }
  if (rank == 3) {
    QC_ASSIGN(int64_t q_heads, m.i("q_num_heads", 0));
    QC_ASSIGN(int64_t kv_heads, m.i("kv_num_heads", 0));
    QC_ASSIGN(c.q, split_heads(m, c.q, q_heads));
    QC_ASSIGN(c.k, split_heads(m, c.k, kv_heads));
    QC_ASSIGN(c.v, split_heads(m, c.v, kv_heads));
  }
  QC_ASSIGN(c.scale, m.f("scale", 0));
  QC_ASSIGN(c.softcap, m.f("softcap", 0));
  QC_ASSIGN(bool causal, m.b("is_causal", false));
  QC_ASSIGN(c.left, m.i("left_window_size", -1));
  QC_ASSIGN(c.right, m.i("right_window_size", -1));
  if (causal) c.right = 0;
  if (m.has(kPastKey) != m.has(kPastValue))
    return m.fail(Code::graph, "only one of past key and past value");
  if (m.has(kPastKey)) {
    if (m.in(kPastKey)->rank() != 4)
      return m.fail(Code::shape, "past keys {}", str(m.in(kPastKey)->shape()));
    c.offset = m.in(kPastKey)->shape()[2];
    QC_ASSIGN(c.k, m.emit("concat", {m.in(kPastKey), c.k}, {{"axis", int64_t{2}}}));
    QC_ASSIGN(c.v, m.emit("concat", {m.in(kPastValue), c.v}, {{"axis", int64_t{2}}}));
  }
  if (m.has(kOnnxMask)) {
    QC_ASSIGN(c.mask, padded_mask(m, m.in(kOnnxMask), c.k->shape()[2]));
  }
  if (m.has(kValidKeys)) {
    QC_ASSIGN(Value * visible, visible_keys(m, c, m.in(kValidKeys)));
    QC_ASSIGN(c.mask, joined_masks(m, c.mask, visible));
    c.left = c.right = -1;
  }
  const DType type = c.q->dtype();
  QC_ASSIGN(DType precision, m.dtype("softmax_precision", type));
  QC_ASSIGN(int64_t mode, m.i("qk_matmul_output_mode", 0));
  Values out{nullptr, c.k, c.v, nullptr};
  if (m.wants(3) || type == DType::f64 || (precision != type && precision != DType::f32)) {
    QC_ASSIGN(AttentionSteps s, emit_attention_steps(m, c, precision));
    if (mode < 0 || mode > 3) return m.fail(Code::attribute, "qk_matmul_output_mode is {}", mode);
    out[0] = s.y;
    out[3] = mode == 0 ? s.raw : mode == 1 ? s.capped : mode == 2 ? s.biased : s.weights;
  } else {
    QC_ASSIGN(out[0], emit_attention(m, c));
    out.pop_back();
  }
  if (rank == 3) {
    QC_ASSIGN(out[0], transposed(m, out[0], {0, 2, 1, 3}));
    const Dims s = out[0]->shape();
    QC_ASSIGN(out[0], reshaped(m, out[0], {s[0], s[1], s[2] * s[3]}));
  }
  return out;
}

constexpr ImportRow kOnnxRows[] = {
    {"", "Attention", onnx_attention, 23},
};

}  // namespace

std::span<const ImportRow> attention_onnx_rows() { return kOnnxRows; }

}  // namespace qc
