#include "ops/attention/attention.h"

#include <algorithm>
#include <cmath>

#include "interp/eval.h"
#include "ir/relations.h"
#include "kernels/attention/calls.h"
#include "kernels/numerics/reduce.h"
#include "kernels/numerics/scalar_ops.h"
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

namespace {

enum Operands : size_t { kQ, kK, kV, kMask };
constexpr int64_t kRows = 12;  // of queries that are computed together

/// Strides of a mask along [batch, heads, queries, keys]; 0 where it broadcasts.
Dims mask_strides(const Dims& shape) {
  Dims out(4);
  const Dims own = strides_of(shape);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!(shape[i] == 1)) out[4 - shape.size() + i] = own[i];
  }
  return out;
}

}  // namespace

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
  const Dims &q = input_type(kQ).shape, &k = input_type(kK).shape, &v = input_type(kV).shape;
  const bool fits = q.size() == 4 && k.size() == 4 && v.size() == 4 && !differ(q[0], k[0]) &&
                    !differ(q[0], v[0]) && !differ(k[1], v[1]) && !differ(k[2], v[2]) &&
                    !differ(q[3], k[3]);
  if (!fits) {
    return error(Code::shape, loc(), "attention of {} over {} and {}", str(q), str(k), str(v));
  }
  if (!q[1].is_static() || !k[1].is_static()) {
    return error(Code::dim, loc(), "{} heads over {} heads of keys; bind them with --dim",
                 q[1].str(), k[1].str());
  }
  if (k[1].value() < 1 || q[1].value() % k[1].value() != 0) {
    return error(Code::shape, loc(), "{} heads share {} heads of keys", q[1].str(), k[1].str());
  }
  const bool far =
      left > INT32_MAX || right > INT32_MAX ||
      (offset.is_static() && (offset.value() > INT32_MAX || offset.value() < INT32_MIN));
  if (far || left < -1 || right < -1 || !(softcap >= 0) || !std::isfinite(scale)) {
    return error(Code::attribute, loc(), "window {}, {}, softcap {} or scale {} is out of range",
                 left, right, softcap, scale);
  }
  const Dims scores{q[0], q[1], q[2], k[2]};
  if (input(kMask)) {
    const Dims& m = input_type(kMask).shape;
    bool broadcasts = m.size() <= 4;
    for (size_t i = 0; broadcasts && i < m.size(); ++i) {
      broadcasts = m[i] == Dim(1) || !differ(m[i], scores[4 - m.size() + i]);
    }
    if (!broadcasts)
      return error(Code::shape, loc(), "a mask {} for scores {}", str(m), str(scores));
  }
  return std::vector<Type>{Type(DType::f32, {q[0], q[1], q[2], v[3]})};
}

double written_scale(double scale, const Value* queries) {
  if (queries->rank() < 1 || !queries->shape().back().is_static()) return scale;
  const double usual = 1 / std::sqrt(static_cast<double>(queries->shape().back().value()));
  return static_cast<float>(scale) == static_cast<float>(usual) ? 0 : scale;
}

float Attention::factor(int64_t depth) const {
  return static_cast<float>(scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(depth)));
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
      c.has(kMask) ? static_dims(mask_strides(to_dims(c.in(kMask).shape()))) : Ints(4, 0);
  const bool is_keep = c.has(kMask) && c.in(kMask).dtype() == DType::boolean;
  std::vector<float> s(static_cast<size_t>(keys));
  for (int64_t row = 0; row < q[0] * heads * queries; ++row) {
    const int64_t i = row % queries, h = row / queries % heads, b = row / queries / heads;
    const int64_t kv = (b * k[1] + h / (heads / k[1])) * keys;
    const float* qi = c.in(kQ).data<float>() + row * depth;
    const float *kh = c.in(kK).data<float>() + kv * depth,
                *vh = c.in(kV).data<float>() + kv * width;
    const int64_t center = i + offset.value();
    for (int64_t j = 0; j < keys; ++j) {
      float& score = s[static_cast<size_t>(j)];
      score = qn_mulf(qn_dot_f32(qi, 1, kh + j * depth, 1, depth, 0.0f), by);
      if (cap > 0) score = qn_mulf(qn_tanh_f32(score / cap), cap);
      if (c.has(kMask)) {
        const int64_t m = b * at[0] + h * at[1] + i * at[2] + j * at[3];
        if (is_keep && !c.in(kMask).data<uint8_t>()[m]) score = -QN_INF_F32;
        if (!is_keep) score += c.in(kMask).data<float>()[m];
      }
      const bool inside = (left < 0 || j >= center - left) && (right < 0 || j <= center + right);
      if (!inside) score = -QN_INF_F32;
    }
    const float max = qn_row_max_f32(s.data(), keys, 1);
    for (float& e : s) e = max == -QN_INF_F32 ? 0.0f : qn_exp_f32(e - max);
    const float sum = max == -QN_INF_F32 ? 1.0f : qn_sum_f32(s.data(), keys, 1);
    for (float& e : s) e /= sum;
    float* y = c.out(0).mutable_data<float>() + row * width;
    for (int64_t d = 0; d < width; ++d) y[d] = qn_dot_f32(s.data(), 1, vh + d, width, keys, 0.0f);
  }
  return Ok{};
}

Result<Ok> Attention::lower(Lowering& l) const {
  const Dims q = l.in_dims(kQ), k = l.in_dims(kK), v = l.in_dims(kV);
  kernel::Attention p;
  const Dim& keys = k[2];
  p.batch = q[0];
  p.heads = q[1];
  p.kv_heads = k[1];
  p.queries = q[2];
  p.keys = keys;
  p.depth = q[3];
  p.value_depth = v[3];
  p.rows = l.bounds(q[2]).min >= kRows ? Dim(kRows) : min(q[2], Dim(kRows));
  p.offset = offset;
  p.left = left;
  p.right = right;
  const bool masked = l.has(kMask);
  const Dims strides = masked ? mask_strides(l.in_dims(kMask)) : Dims(4);
  std::copy(strides.begin(), strides.end(), p.mask);
  p.scale = factor(q[3].value());
  p.softcap = static_cast<float>(softcap);
  if (count(l.out_dims()) == 0) return Ok{};
  const bool keep = masked && l.in_type(kMask).dtype == DType::boolean;
  // As QK_ATTENTION_SCRATCH counts them.
  const auto panels = [](const Dim& n) { return ceildiv(n, 16) * Dim(16); };
  const Dim scratch = panels(keys) * q[3] + panels(v[3]) * keys + p.rows * keys;
  QC_TRY(l.param(scratch));
  p.q = l.in(kQ);
  p.k = l.in(kK);
  p.v = l.in(kV);
  (keep ? p.keep : p.add) = l.optional(kMask);
  p.y = l.out();
  p.scratch = l.scratch(DType::f32, {scratch}, "scores");
  l.emit(p, {.in_place = {}, .macs = macs()});
  return Ok{};
}

void register_attention(Registration& r) {
  r.op<Attention>();
  r.imports(attention_onnx_rows());
  r.imports(attention_aten_rows());
  r.rewrites(attention_rewrites());
}

}  // namespace qc
