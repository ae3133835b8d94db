#include "ops/attention/attention.h"

#include <algorithm>
#include <cmath>

#include "interp/eval.h"
#include "kernels/attention/calls.h"
#include "kernels/numerics/reduce.h"
#include "kernels/numerics/scalar_ops.h"
#include "ops/attention/qattention.h"
#include "ops/common/dispatch.h"
#include "ops/common/macs.h"
#include "ops/common/registration.h"
#include "ops/common/strided.h"
#include "program/lowering.h"

namespace qc {

const OpInfo Attention::kInfo = {
    .name = "attention",
    .min_inputs = 3,
    .max_inputs = 4,
    .traits = kQuantizedInFloat,
    .summary = "scaled dot product attention with mask, window and shared key heads",
};

Result<std::vector<Type>> Attention::infer() const {
  for (size_t i = 0; i < input_count(); ++i) {
    if (!input(i) && i < kMask) return error(Code::graph, loc(), "operand {} is missing", i);
    if (!input(i)) continue;
    const DType t = input_type(i).dtype;
    if (t != DType::f32 && !(i == kMask && t == DType::boolean)) {
      return error(Code::unsupported, loc(), "operand {} of attention is {}, expected f32", i,
                   name(t));
    }
  }
  QC_ASSIGN(Dims shape, check(*this));
  return std::vector<Type>{Type(DType::f32, std::move(shape))};
}

double written_scale(double scale, const Value* queries) {
  if (queries->rank() < 1 || !queries->shape().back().is_static()) return scale;
  const double usual = 1 / std::sqrt(static_cast<double>(queries->shape().back().value()));
  return static_cast<float>(scale) == static_cast<float>(usual) ? 0 : scale;
}

int64_t Attention::macs() const {
  const Dims &q = input_type(kQ).shape, &v = input_type(kV).shape;
  return macs_of(*this, {q[0], q[1], q[2], v[2], q[3] + v[3]});
}

Result<Ok> Attention::eval(EvalContext& c) const {
  const Ints &q = c.in(kQ).shape(), &k = c.in(kK).shape(), &v = c.in(kV).shape();
  const int64_t heads = q[1], queries = q[2], depth = q[3], keys = k[2], width = v[3];
  const float by = factor(depth), cap = static_cast<float>(softcap);
  const Ints at =
      c.has(kMask)
          ? static_dims(mask_strides(to_dims(c.in(kMask).shape()), strides_of(c.in(kMask))))
          : Ints(4, 0);
  const Ints to = static_dims(result_strides(to_dims(q), to_dims(v)));
  const bool is_keep = c.has(kMask) && c.in(kMask).dtype() == DType::boolean;
  std::vector<float> s(static_cast<size_t>(keys));
  for (int64_t row = 0; row < q[0] * heads * queries; ++row) {
    const int64_t i = row % queries, h = row / queries % heads, b = row / queries / heads;
    const int64_t kv = (b * k[1] + h / (heads / k[1])) * keys;
    const float* qi = c.in(kQ).data<float>() + row * depth;
    const float *kh = c.in(kK).data<float>() + kv * depth,
                *vh = c.in(kV).data<float>() + kv * width;
    for (int64_t j = 0; j < keys; ++j) {
      float& score = s[static_cast<size_t>(j)];
      score = qn_mulf(dot_product(c.dot(), kh + j * depth, 1, qi, depth, 0.0f), by);
      if (cap > 0) score = qn_mulf(qn_tanh_f32(score / cap), cap);
      if (c.has(kMask)) {
        const int64_t m = b * at[0] + h * at[1] + i * at[2] + j * at[3];
        if (is_keep && !c.in(kMask).data<uint8_t>()[m]) score = -QN_INF_F32;
        if (!is_keep) score += c.in(kMask).data<float>()[m];
      }
      if (!sees(i, j)) score = -QN_INF_F32;
    }
    const float max = qn_row_max_f32(s.data(), keys, 1);
    const bool blind = max == -QN_INF_F32 && !nan_rows;
    for (float& e : s) e = blind ? 0.0f : qn_exp_f32(e - max);
    const float sum = blind ? 1.0f : qn_sum_f32(s.data(), keys, 1);
    for (float& e : s) e /= sum;
    float* y = c.out(0).mutable_data<float>() + b * to[0] + h * to[1] + i * to[2];
    for (int64_t d = 0; d < width; ++d) {
      y[d] = dot_product(c.dot(), vh + d, width, s.data(), keys, 0.0f);
    }
  }
  return Ok{};
}

Result<Ok> Attention::lower(Lowering& l) const {
  const Dims q = l.in_dims(kQ), k = l.in_dims(kK), v = l.in_dims(kV);
  kernel::Attention p;
  p.batch = q[0];
  p.heads = q[1];
  p.kv_heads = k[1];
  p.queries = q[2];
  p.keys = k[2];
  p.depth = q[3];
  p.value_depth = v[3];
  p.offset = offset;
  p.left = left;
  p.right = right;
  const bool masked = l.has(kMask);
  const Dims strides = mask_strides(*this);
  std::copy(strides.begin(), strides.end(), p.mask);
  QC_ASSIGN(p.scale, factor(q[3], l.loc()));
  p.softcap = static_cast<float>(softcap);
  p.nan_rows = nan_rows ? 1 : 0;
  if (count(l.out_dims()) == 0) return Ok{};
  const bool keep = masked && l.in_type(kMask).dtype == DType::boolean;
  p.q = l.in(kQ);
  p.k = l.in(kK);
  p.v = l.in(kV);
  (keep ? p.keep : p.add) = l.optional(kMask);
  p.y = l.out();
  fill_strides(*this, kQ, p.q_at);
  fill_strides(*this, kK, p.k_at);
  fill_strides(*this, kV, p.v_at);
  const Dims at = result_strides(q, v);
  std::copy(at.begin(), at.end(), p.y_at);
  l.emit(p, {.in_place = {}, .macs = macs()});
  return Ok{};
}

void register_attention(Registration& r) {
  r.op<Attention>();
  r.op<QAttention>();
  r.op(&QAttentionQuantize::kStatic, [] { return std::make_unique<QAttentionQuantize>(false); });
  r.op(&QAttentionQuantize::kDynamic, [] { return std::make_unique<QAttentionQuantize>(true); });
  r.imports(attention_onnx_rows());
  r.imports(attention_aten_rows());
  r.rewrites(attention_rewrites());
}

}  // namespace qc
