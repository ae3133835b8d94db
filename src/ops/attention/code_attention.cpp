#include "ops/attention/code_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/epilogue/calls.h"
#include "kernels/numerics/quant.h"
#include "kernels/numerics/reduce.h"
#include "kernels/numerics/scalar_ops.h"
#include "ops/common/codes.h"
#include "ops/common/macs.h"
#include "ops/common/strided.h"
#include "ops/common/weighted.h"
#include "program/strided_alias.h"
#include "support/checked.h"

namespace qc {
namespace {

constexpr int64_t kMostWeight = 255;  // the largest code of a weight

/// Codes and scales of one operand while a result is computed.
struct Decoded {
  const Tensor& codes;
  int64_t row;  // elements that share a scale
  const float* scales = nullptr;
  const int32_t* zeros = nullptr;
  float scale = 1;
  int32_t zero = 0;

  Decoded(EvalContext& c, size_t i, const Type& type)
      : codes(c.in(i)), row(has_row_scales(type) ? type.shape[3].value() : 0) {
    const size_t at = CodeAttention::scale_operand(i);
    if (type.format->is_dynamic()) {
      scales = c.in(at).data<float>();
    } else {
      scale = type.format->scale_at();
    }
    if (c.has(at + 1)) {
      zeros = c.in(at + 1).data<int32_t>();
    } else if (type.format->zero_point.kind == Component::Kind::fixed) {
      zero = type.format->zero_at();
    }
  }
  int64_t group(int64_t element) const { return row > 0 ? element / row : 0; }
  float scale_of(int64_t element) const { return scales ? scales[group(element)] : scale; }
  int64_t less_zero(int64_t element) const {
    return codes.as_int(element) - (zeros ? zeros[group(element)] : zero);
  }
};

/// Weights of the keys as codes, and what their sums with one-scale values are multiplied with.
struct Weights {
  std::vector<int64_t> codes;
  float scale = 1;
};

/// `s` holds the scores of a query; `key` is the row of v that its first key has.
Weights weighed(std::vector<float>& s, const Decoded& v, int64_t key, int64_t width,
                bool nan_rows) {
  Weights out{std::vector<int64_t>(s.size(), 0)};
  const int64_t keys = std::ssize(s);
  const float max = qn_row_max_f32(s.data(), keys, 1);
  if (max == -QN_INF_F32) {
    if (nan_rows) out.scale = std::numeric_limits<float>::quiet_NaN();
    return out;
  }
  for (float& e : s) e = qn_exp_f32(e - max);
  const float sum = qn_sum_f32(s.data(), keys, 1);
  float largest = 1.0f;
  if (v.row > 0) {
    for (size_t j = 0; j < s.size(); ++j) {
      s[j] = qn_mulf(s[j], v.scale_of((key + static_cast<int64_t>(j)) * width));
    }
    largest = qn_row_max_f32(s.data(), keys, 1);
  }
  const float steps = static_cast<float>(kMostWeight) / largest;
  for (size_t j = 0; j < s.size(); ++j) {
    out.codes[j] = qn_code(qn_mulf(s[j], steps), 0, 0, kMostWeight);
  }
  out.scale = (largest / static_cast<float>(kMostWeight)) / sum;
  return out;
}

void put(Tensor& y, int64_t at, int64_t sum, float scale, const QType& to) {
  const float value = qn_mulf(static_cast<float>(sum), scale);
  if (!to.format) {
    y.mutable_data<float>()[at] = value;
    return;
  }
  const CodeLimits limits = code_limits(to);
  y.set_int(at, qn_code(value, to.format->zero_at(), limits.lo, limits.hi));
}

}  // namespace

AccumulatorProof attention_accumulators(const Type& q, const Type& k, const Type& v,
                                        const SymbolBounds& bounds) {
  const int64_t depth = q.shape[3].bounds(bounds).max, keys = k.shape[2].bounds(bounds).max;
  const auto widest = [](int64_t terms, int64_t each) {
    return checked_mul(terms, each).value_or(INT64_MAX);
  };
  const int64_t scores = widest(depth, largest_difference(q) * largest_difference(k));
  const int64_t values = widest(keys, kMostWeight * largest_difference(v));
  AccumulatorProof out;
  out.bound = std::max(scores, values);
  out.terms = scores > values ? depth : keys;
  out.type = out.bound <= INT32_MAX ? DType::i32 : DType::i64;
  return out;
}

bool has_row_scales(const Type& type) {
  const Format& f = *type.format;
  return f.is_dynamic() && f.granularity == Granularity::group && f.axis == type.rank() - 1 &&
         type.shape.back().is_static() && f.group >= type.shape.back().value();
}

Result<Dims> CodeAttention::check_codes(const Node& node) const {
  for (size_t i : {kQ, kK, kV}) QC_TRY(check_format(node.input_type(i), node.loc()));
  QC_ASSIGN(Dims shape, check(node));
  for (size_t i : {kQ, kK, kV}) {
    const Type& x = node.input_type(i);
    const bool rows = has_row_scales(x), one = x.format->granularity == Granularity::tensor;
    if (bits(x.dtype) != 8 || (!rows && !one)) {
      return error(Code::quant, node.loc(),
                   "operand {} is {}: codes of 8 bits with one scale are "
                   "expected, or with one for each row",
                   i, str(x));
    }
    Dims scales = x.shape;
    scales[3] = Dim(1);
    for (size_t part = 0; part < 2; ++part) {
      const Value* v = node.input(scale_operand(i) + part);
      const bool dynamic =
          (part ? x.format->zero_point : x.format->scale).kind == Component::Kind::dynamic;
      const DType dtype = part ? DType::i32 : DType::f32;
      const bool fits =
          v && v->dtype() == dtype && (rows ? v->shape() == scales : product(v->shape()) == Dim(1));
      if (dynamic ? !fits : v != nullptr) {
        return error(Code::graph, node.loc(), "the {} of operand {}", part ? "zero point" : "scale",
                     i);
      }
    }
  }
  if (const Value* mask = node.input(kMask);
      mask && mask->dtype() != DType::f32 && mask->dtype() != DType::boolean) {
    return error(Code::type, node.loc(), "a mask of {}", name(mask->dtype()));
  }
  return shape;
}

int64_t CodeAttention::macs_of_codes(const Node& node) const {
  const Dims &q = node.input_type(kQ).shape, &v = node.input_type(kV).shape;
  return macs_of(node, {q[0], q[1], q[2], v[2], q[3] + v[3]});
}

AccumulatorProof CodeAttention::accumulators(const Node& node) const {
  return attention_accumulators(node.input_type(kQ), node.input_type(kK), node.input_type(kV),
                                node.output()->graph()->symbol_bounds());
}

bool CodeAttention::takes_strides_of_codes(const Node& node, size_t operand) const {
  if (operand <= kMask) return true;
  return has_row_scales(node.input_type((operand - scale_operand(0)) / 2));
}

void CodeAttention::compute(const Node& node, EvalContext& c, const QType& to, Tensor& y) const {
  const Ints &qs = c.in(kQ).shape(), &ks = c.in(kK).shape(), &vs = c.in(kV).shape();
  const int64_t heads = qs[1], queries = qs[2], depth = qs[3], keys = ks[2], width = vs[3];
  const Decoded q(c, kQ, node.input_type(kQ)), k(c, kK, node.input_type(kK)),
      v(c, kV, node.input_type(kV));
  const float by = factor(depth), cap = static_cast<float>(softcap);
  const Ints at =
      c.has(kMask)
          ? static_dims(mask_strides(to_dims(c.in(kMask).shape()), strides_of(c.in(kMask))))
          : Ints(4, 0);
  const bool is_keep = c.has(kMask) && c.in(kMask).dtype() == DType::boolean;
  const Ints y_at = static_dims(result_strides(to_dims(qs), to_dims(vs)));
  std::vector<float> s(static_cast<size_t>(keys));
  for (int64_t row = 0; row < qs[0] * heads * queries; ++row) {
    const int64_t i = row % queries, h = row / queries % heads, b = row / queries / heads;
    const int64_t key = (b * ks[1] + h / (heads / ks[1])) * keys;
    const float sq = qn_mulf(q.scale_of(row * depth), by);
    for (int64_t j = 0; j < keys; ++j) {
      float& score = s[static_cast<size_t>(j)];
      int64_t sum = 0;
      for (int64_t d = 0; d < depth; ++d) {
        sum += q.less_zero(row * depth + d) * k.less_zero((key + j) * depth + d);
      }
      score = qn_mulf(static_cast<float>(sum), qn_mulf(sq, k.scale_of((key + j) * depth)));
      if (cap > 0) score = qn_mulf(qn_tanh_f32(score / cap), cap);
      if (c.has(kMask)) {
        const int64_t m = b * at[0] + h * at[1] + i * at[2] + j * at[3];
        if (is_keep && !c.in(kMask).data<uint8_t>()[m]) score = -QN_INF_F32;
        if (!is_keep) score += c.in(kMask).data<float>()[m];
      }
      if (!sees(i, j)) score = -QN_INF_F32;
    }
    const int64_t first = b * y_at[0] + h * y_at[1] + i * y_at[2];
    const Weights w = weighed(s, v, key, width, nan_rows);
    float scale = v.row > 0 ? w.scale : qn_mulf(w.scale, v.scale_of(0));
    if (to.format) scale /= to.format->scale_at();
    for (int64_t d = 0; d < width; ++d) {
      int64_t sum = 0;
      for (int64_t j = 0; j < keys; ++j) {
        sum += w.codes[static_cast<size_t>(j)] * v.less_zero((key + j) * width + d);
      }
      put(y, first + d, sum, scale, to);
    }
  }
}

Result<kernel::Qattention> CodeAttention::call(const Node& node, Lowering& l) const {
  const Dims q = l.in_dims(kQ), k = l.in_dims(kK), v = l.in_dims(kV);
  if (const auto proof = accumulators(node); proof.type != DType::i32) {
    return error(Code::limit, node.loc(), "accumulators of {} products do not fit 32 bits",
                 proof.terms);
  }
  kernel::Qattention p;
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
  const Dims strides = mask_strides(node);
  std::copy(strides.begin(), strides.end(), p.mask);
  QC_ASSIGN(p.scale, factor(q[3], l.loc()));
  p.softcap = static_cast<float>(softcap);
  p.nan_rows = nan_rows ? 1 : 0;
  // Of static formats scales and zero points, of dynamic ones the values that hold them.
  const auto format = [&](size_t i, auto& type, auto& zero, auto& scale, auto& rows) {
    const Format& f = *l.in_type(i).format;
    type = code_type(l.in_type(i).dtype);
    if (f.zero_point.kind == Component::Kind::fixed) zero = f.zero_at();
    if (!f.is_dynamic()) scale = f.scale_at();
    rows = has_row_scales(l.in_type(i)) ? 1 : 0;
  };
  format(kQ, p.q_type, p.q_zero, p.q_scale, p.q_rows);
  format(kK, p.k_type, p.k_zero, p.k_scale, p.k_rows);
  format(kV, p.v_type, p.v_zero, p.v_scale, p.v_rows);
  p.y_type = QK_F32;
  p.quantize.mode = QK_NO_EPILOGUE;
  p.q = l.in(kQ);
  p.k = l.in(kK);
  p.v = l.in(kV);
  const auto lie = [&](size_t i, Dim(&codes)[3], Dim(&scales)[3], Dim(&zeros)[3]) {
    fill_strides(node, i, codes);
    if (!has_row_scales(l.in_type(i))) return;
    const size_t at = scale_operand(i);
    fill_strides(node, at, scales);
    if (l.has(at + 1)) fill_strides(node, at + 1, zeros);
  };
  lie(kQ, p.q_at, p.q_scales_at, p.q_zeros_at);
  lie(kK, p.k_at, p.k_scales_at, p.k_zeros_at);
  lie(kV, p.v_at, p.v_scales_at, p.v_zeros_at);
  const Dims at = result_strides(q, v);
  std::copy(at.begin(), at.end(), p.y_at);
  const bool keep = l.has(kMask) && l.in_type(kMask).dtype == DType::boolean;
  (keep ? p.keep : p.add) = l.optional(kMask);
  View* const dynamic[] = {&p.q_scales, &p.q_zeros,  &p.k_scales,
                           &p.k_zeros,  &p.v_scales, &p.v_zeros};
  for (size_t i = 0; i < 6; ++i) *dynamic[i] = l.optional(scale_operand(0) + i);
  for (const Dim& size : {product(q), product(k), product(v), product(l.out_dims())})
    QC_TRY(l.param(size));
  for (size_t i : {kQ, kK, kV}) {
    for (const Dim& stride : strides_in(node, i)) QC_TRY(l.param(stride));
  }
  return p;
}

}  // namespace qc
