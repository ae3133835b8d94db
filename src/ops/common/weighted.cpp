#include "ops/common/weighted.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/epilogue/calls.h"
#include "kernels/numerics/quant.h"
#include "kernels/numerics/quant_q31.h"
#include "ops/common/codes.h"
#include "program/epilogue.h"
#include "support/checked.h"

namespace qc {
namespace {
/// Accumulators of this magnitude and more need 64 bits.
constexpr int64_t kWideSum = int64_t{1} << 31;
}  // namespace

AccumulatorOutput::AccumulatorOutput(const Format& x, const Format& w, int64_t channels,
                                     const QType& to, const Arithmetic& arithmetic, int64_t lo,
                                     int64_t hi)
    : type_(to.format                ? code_type(to.dtype)
            : to.dtype == DType::i32 ? QK_I32
                                     : QK_F32),
      dynamic_(x.is_dynamic()),
      one_scale_(w.granularity == Granularity::tensor) {
  const int64_t count = w.scale.values.size();
  for (int64_t c = 0; c < channels; ++c) {
    const float s = w.scale_at(c % count);
    scales_.push_back(dynamic_ ? s : qn_mulf(x.scale_at(), s));
  }
  multipliers_ = scales_;
  if (!to.format) return;
  q31_ = arithmetic.rescale == Arithmetic::Rescale::q31;
  const bool each = to.format->granularity == Granularity::axis;
  for (size_t c = 0; c < multipliers_.size(); ++c) {
    multipliers_[c] = multipliers_[c] / to.format->scale_at(each ? static_cast<int64_t>(c) : 0);
    if (each) zeros_.push_back(to.format->zero_at(static_cast<int64_t>(c)));
  }
  if (std::all_of(zeros_.begin(), zeros_.end(), [&](int32_t z) { return z == zeros_[0]; })) {
    zeros_.clear();
  }
  zero_ = to.format->zero_at();
  const CodeLimits limits = code_limits(to, lo, hi);
  lo_ = limits.lo;
  hi_ = limits.hi;
}

void AccumulatorOutput::add_bias(const Tensor& bias) {
  bias_.assign(bias.data<float>(), bias.data<float>() + bias.size());
  if (type_ == QK_F32) return;
  if (one_scale_) {
    bias_factor_ = 1.0f / scales_[0];
    return;
  }
  for (size_t c = 0; c < bias_.size(); ++c) bias_[c] = bias_[c] / scales_[c];
}

void AccumulatorOutput::put(Tensor& y, int64_t i, int64_t sum, int64_t channel,
                            float x_scale) const {
  const size_t c = static_cast<size_t>(channel);
  if (type_ == QK_I32) {
    y.set_int(i, static_cast<int32_t>(static_cast<uint32_t>(sum)));
    return;
  }
  if (q31_) {
    int32_t mantissa = 0, shift = 0;
    qn_q31_from_f32(multipliers_[c], &mantissa, &shift);
    y.set_int(i, qn_rescale_q31(sum, mantissa, shift, zero(c), lo_, hi_));
    return;
  }
  float v = static_cast<float>(sum);
  if (type_ != QK_F32) {
    if (!bias_.empty()) v = qn_fmaf(bias_[c], bias_factor_, v);
    y.set_int(i, qn_code(qn_mulf(v, multipliers_[c]), zero(c), lo_, hi_));
    return;
  }
  v = qn_mulf(v, dynamic_ ? qn_mulf(x_scale, multipliers_[c]) : multipliers_[c]);
  y.mutable_data<float>()[i] = bias_.empty() ? v : v + bias_[c];
}

Stage AccumulatorOutput::stage(Lowering& l) const {
  const auto with_operands = [&](auto out) {
    out.type = type_;
    out.bias_factor = bias_factor_;
    out.multipliers = multipliers(l);
    if constexpr (requires { out.float_bias; }) out.float_bias = bias(l);
    return out;
  };
  if (type_ == QK_I32) return make_stage(with_operands(stage::Accumulators()));
  if (type_ == QK_F32) return make_stage(with_operands(stage::Dequantize()));
  const auto rescaled = [&](auto out) {
    out.zero = zero_;
    out.lo = lo_;
    out.hi = hi_;
    out.q31 = q31_ ? 1 : 0;
    return out;
  };
  if (zeros_.empty()) return make_stage(rescaled(with_operands(stage::Rescale())));
  auto each = rescaled(with_operands(stage::RescaleEach()));
  each.y_zeros =
      l.constant(Tensor::of<int32_t>(DType::i32, {static_cast<int64_t>(zeros_.size())}, zeros_),
                 "zero points of results");
  return make_stage(each);
}

View AccumulatorOutput::multipliers(Lowering& l) const {
  const int64_t n = static_cast<int64_t>(multipliers_.size());
  if (!q31_) {
    return l.constant(Tensor::of<float>(DType::f32, {n}, multipliers_), "multipliers");
  }
  Tensor pairs(DType::i32, {n, 2});
  int32_t* p = pairs.mutable_data<int32_t>();
  for (size_t c = 0; c < multipliers_.size(); ++c) {
    qn_q31_from_f32(multipliers_[c], &p[2 * c], &p[2 * c + 1]);
  }
  return l.constant(std::move(pairs), "multipliers");
}

View AccumulatorOutput::bias(Lowering& l) const {
  if (bias_.empty()) return View{};
  return l.constant(Tensor::of<float>(DType::f32, {static_cast<int64_t>(bias_.size())}, bias_),
                    "bias");
}

std::string stored_suffix(DType dtype) {
  static const char* const kNames[] = {"i8", "u8", "i16", "u16"};
  return kNames[code_type(dtype)];
}

StoredWeights::StoredWeights(const Type& w, int64_t channels) {
  const Format& f = *w.format;
  const int64_t count =
      f.zero_point.kind == Component::Kind::fixed ? f.zero_point.values.size() : 1;
  bool fits = true, any = false;
  for (int64_t c = 0; c < count; ++c) {
    const int64_t z = f.zero_at(c);
    any = any || z != 0;
    fits = fits && f.qmin - z >= -128 && f.qmax - z <= 127;
  }
  if (bits(w.dtype) > 8) fits = !any;
  const int32_t flip = is_signed(w.dtype) || bits(w.dtype) > 8 ? 0 : 128;
  for (int64_t c = 0; c < (fits ? count : 1); ++c) shift.push_back(fits ? f.zero_at(c) : flip);
  if (fits) return;
  for (int64_t c = 0; c < channels; ++c) zeros.push_back(f.zero_at(c % count) - flip);
}

View StoredWeights::zero_points(Lowering& l) const {
  if (zeros.empty()) return View{};
  return l.constant(Tensor::of<int32_t>(DType::i32, {static_cast<int64_t>(zeros.size())}, zeros),
                    "zero points");
}

View StoredWeights::plain(Lowering& l, std::function<int64_t(int64_t)> channel_of) const {
  const Type& type = l.in_type(1);
  if (type.dtype == DType::i8 && key().empty()) return l.in(1);
  const DType dtype = bits(type.dtype) > 8 ? DType::i16 : DType::i8;
  const Ints shape = static_dims(type.shape);
  return l.derived(*l.constant_in(1), "codes" + key(), dtype, shape,
                   [dtype, shape, channel_of, stored = *this](const Tensor& w) -> Result<Tensor> {
                     Tensor out(dtype, shape);
                     for (int64_t i = 0; i < w.size(); ++i) {
                       out.set_int(i, w.as_int(i) - stored.shift_of(channel_of(i)));
                     }
                     return out;
                   });
}

std::string StoredWeights::key() const {
  if (shift.size() == 1) return shift[0] == 0 ? "" : fmt::format(".{}", shift[0]);
  size_t hash = 0;
  for (int32_t s : shift) hash = hash * 31 + static_cast<size_t>(s + 65536);
  return fmt::format(".{:x}", hash);
}

int64_t largest_difference(const Type& type) {
  const Format& f = *type.format;
  if (f.zero_point.kind == Component::Kind::dynamic) return f.qmax - f.qmin;
  int64_t most = 0;
  const int64_t count =
      f.zero_point.kind == Component::Kind::fixed ? f.zero_point.values.size() : 1;
  for (int64_t i = 0; i < count; ++i) {
    most = std::max({most, f.qmax - f.zero_at(i), f.zero_at(i) - f.qmin});
  }
  return most;
}

bool fits_16_bits(const Type& type) {
  const Format& f = *type.format;
  if (bits(type.dtype) <= 8) return true;
  return !f.is_dynamic() && f.qmin - f.zero_at() >= INT16_MIN && f.qmax - f.zero_at() <= INT16_MAX;
}

AccumulatorProof prove_accumulators(const Type& x, const Value* weights, const Value* bias,
                                    int64_t terms, int64_t channels,
                                    const std::function<int64_t(int64_t)>& channel_of) {
  AccumulatorProof proof{.terms = terms, .bound = INT64_MAX, .type = DType::i64};
  const int64_t most = largest_difference(x);
  const ConstantPool& pool = weights->graph()->pool();
  const Result<Tensor> w = pool.get(weights->constant());
  if (!w.ok()) return proof;
  const Format& f = *weights->type().format;
  std::vector<int64_t> weight_sums(static_cast<size_t>(channels), 0);
  for (int64_t i = 0; i < w->size(); ++i) {
    const int64_t c = channel_of(i);
    weight_sums[static_cast<size_t>(c)] +=
        std::abs(w->as_int(i) - f.zero_at(c % f.scale.values.size()));
  }
  Tensor added;
  if (bias && bias->dtype() != DType::f32) {
    Result<Tensor> b = pool.get(bias->constant());
    if (!b.ok()) return proof;
    added = std::move(*b);
  }
  proof.bound = 0;
  for (int64_t c = 0; c < channels; ++c) {
    const int64_t sum = weight_sums[static_cast<size_t>(c)];
    proof.weight_sum = std::max(proof.weight_sum, sum);
    int64_t bound = checked_mul(sum, most).value_or(INT64_MAX);
    if (added.size() > 0) {
      const int64_t b = added.as_int(c);
      bound = checked_add(bound, b == INT64_MIN ? INT64_MAX : std::abs(b)).value_or(INT64_MAX);
    }
    proof.bound = std::max(proof.bound, bound);
  }
  if (proof.bound < kWideSum) proof.type = DType::i32;
  return proof;
}

AccumulatorProof prove_range(const Type& x, const Type& w, int64_t terms) {
  const int64_t each = largest_difference(x) * largest_difference(w);
  AccumulatorProof proof{.terms = terms, .bound = checked_mul(terms, each).value_or(INT64_MAX)};
  proof.type = proof.bound < kWideSum ? DType::i32 : DType::i64;
  return proof;
}

View accumulator_bias(Lowering& l, size_t operand, DType type) {
  if (!l.has(operand) || l.in_type(operand).dtype == DType::f32) return View{};
  if (l.in_type(operand).dtype == type) return l.in(operand);
  const Ints shape = static_dims(l.in_type(operand).shape);
  return l.derived(*l.constant_in(operand), std::string(name(type)), type, shape,
                   [type, shape](const Tensor& b) -> Result<Tensor> {
                     Tensor out(type, shape);
                     for (int64_t i = 0; i < b.size(); ++i) out.set_int(i, b.as_int(i));
                     return out;
                   });
}

namespace {
/// A scale or zero point of a format for each of `each` groups of `outputs`, `of(index of a
/// scale)`.
template <class T, class F>
View group_numbers(Lowering& l, DType dtype, const Format& f, int64_t outputs, int64_t each,
                   std::string_view purpose, F&& of) {
  Tensor out(dtype, {outputs, each});
  for (int64_t i = 0; i < out.size(); ++i) {
    const int64_t index = f.granularity == Granularity::tensor ? 0
                          : f.granularity == Granularity::axis ? i / each
                                                               : i;
    out.mutable_data<T>()[i] = of(index);
  }
  return l.constant(std::move(out), purpose);
}
}  // namespace

View weight_scales(Lowering& l, const Format& f, int64_t outputs, int64_t each) {
  return group_numbers<float>(l, DType::f32, f, outputs, each, "scales",
                              [&](int64_t i) { return f.scale_at(i); });
}

View weight_zeros(Lowering& l, const Format& f, int64_t outputs, int64_t each) {
  bool one = true;
  if (f.zero_point.kind == Component::Kind::fixed) {
    for (int64_t i = 1; i < f.zero_point.values.size(); ++i)
      one = one && f.zero_at(i) == f.zero_at(0);
  }
  if (one) return View{};
  return group_numbers<int32_t>(l, DType::i32, f, outputs, each, "zero points",
                                [&](int64_t i) { return f.zero_at(i); });
}

}  // namespace qc
