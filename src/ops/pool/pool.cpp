#include "ops/pool/pool.h"

#include <variant>

#include "interp/eval.h"
#include "kernels/numerics/scalar_ops.h"
#include "kernels/pool/calls.h"
#include "ops/common/chain.h"
#include "ops/common/dispatch.h"
#include "ops/common/nan.h"
#include "ops/common/registration.h"
#include "ops/common/strided.h"
#include "ops/common/window.h"
#include "program/lowering.h"
#include "support/budget.h"

namespace qc {

const OpInfo Pool::kMax = {
    .name = "max_pool",
    .outputs = -1,
    .traits = kAnyLayout | kOnCodes,
    .summary = "the largest element under each window, optionally with its place",
};
const OpInfo Pool::kAverage = {
    .name = "average_pool",
    .traits = kAnyLayout,
    .summary = "the mean of the elements under each window",
};
const OpInfo Pool::kLp = {
    .name = "lp_pool",
    .traits = kAnyLayout | kQuantizedInFloat,
    .summary = "the p-norm of the elements under each window",
};

const OpInfo& Pool::info() const {
  return kind == PoolKind::max ? kMax : kind == PoolKind::average ? kAverage : kLp;
}

void PoolWindow::window_attrs(AttrVisitor& v) {
  v("kernel", kernel, Ints{});
  v("strides", strides, Ints{});
  v("dilations", dilations, Ints{});
  v("pads", pads, Ints{});
  v("output_size", output_size, Ints{});
  v("ceil", ceil, false);
  v("valid", valid, Dims{});
}

void PoolWindow::mean_attrs(AttrVisitor& v) {
  v("include_pad", include_pad, false);
  v("divisor", divisor, int64_t{0});
}

void Pool::attrs(AttrVisitor& v) {
  window_attrs(v);
  if (kind == PoolKind::max) v("index", index, std::string());
  if (kind == PoolKind::average) mean_attrs(v);
  if (kind == PoolKind::lp) v("power", power, int64_t{2});
}

Result<Dims> PoolWindow::pooled(const Dims& x, const Loc& loc) const {
  if (x.size() < 3 || x.size() > 5) {
    return error(Code::shape, loc, "pool needs a rank from 3 to 5, got {}", str(x));
  }
  const size_t axes = x.size() - 2;
  Dims y(x.begin(), x.begin() + 2);
  if (!valid.empty() && valid.size() != axes)
    return error(Code::attribute, loc, "valid is {} for {}", str(valid), str(x));
  if (divisor < 0 || divisor > INT32_MAX) {
    return error(Code::unsupported, loc, "an average with divisor {}", divisor);
  }
  if (!output_size.empty()) {
    if (output_size.size() != axes) {
      return error(Code::attribute, loc, "{} output sizes for {} axes", output_size.size(), axes);
    }
    for (size_t i = 0; i < axes; ++i) {
      const Dim& in = x[2 + i];
      if (!fits_window(output_size[i], 1) || (in.is_static() && !fits_window(in.value(), 1))) {
        return error(Code::shape, loc, "cannot pool a size of {} to {}", in.str(), output_size[i]);
      }
      y.push_back(Dim(output_size[i]));
    }
    return y;
  }
  QC_TRY(check_window(kernel, strides, dilations, pads, axes, loc));
  for (size_t i = 0; i < axes; ++i) {
    QC_ASSIGN(Dim size, window_extent(x[2 + i], kernel[i], strides[i], dilations[i], pads[i],
                                      pads[axes + i], ceil, loc));
    y.push_back(size);
  }
  return y;
}

Result<std::vector<Type>> Pool::infer() const {
  const Type& x = input_type(0);
  QC_TRY(arithmetic_suffix(x.dtype, loc()));
  if (kind != PoolKind::max && !is_float(x.dtype)) {
    return error(Code::unsupported, loc(), "{} of {} values", op(), name(x.dtype));
  }
  QC_ASSIGN(Dims shape, pooled(x.shape, loc()));
  if (power < 1 || power > INT32_MAX) {
    return error(Code::attribute, loc(), "power {} must be positive", power);
  }
  if (x.format && !always_taps(x.shape, shape)) {
    return error(Code::unsupported, loc(), "the largest of no codes, in a window of padding only");
  }
  const Type y = moved(x, std::move(shape));
  if (index.empty()) return std::vector<Type>{y};
  if (index != "plane" && index != "tensor" && index != "tensor_reversed") {
    return error(Code::attribute, loc(), "index is '{}', expected plane, tensor or tensor_reversed",
                 index);
  }
  Type positions = y;
  positions.dtype = DType::i64;
  positions.format = nullptr;
  return std::vector<Type>{y, positions};
}

PoolSizes PoolWindow::sizes(const Dims& x, const Dims& y) const {
  PoolSizes p;
  fill(p, x, y);
  return p;
}

Taps taps_of(const PoolSizes& p, int axis, int64_t o) {
  Taps taps;
  const int64_t in = p.valid[axis], out = p.out[axis];
  if (p.adaptive) {
    for (int64_t i = o * in / out; i < ((o + 1) * in + out - 1) / out; ++i) taps.at.push_back(i);
    taps.counted = static_cast<int64_t>(taps.at.size());
    return taps;
  }
  for (int64_t k = 0; k < p.k[axis]; ++k) {
    const int64_t at = o * p.stride[axis] - p.pad[axis] + k * p.dilation[axis];
    if (at < in + p.end[axis]) ++taps.counted;
    if (at >= 0 && at < in) taps.at.push_back(at);
  }
  return taps;
}

bool PoolWindow::always_taps(const Dims& x, const Dims& y) const {
  if (!output_size.empty()) return true;
  if (!all_static(x) || !all_static(y) || !all_static(valid)) {
    for (int64_t d : dilations) {
      if (d != 1) return false;
    }
    for (size_t i = 0; i < pads.size(); ++i) {
      if (pads[i] >= kernel[i % kernel.size()]) return false;
    }
    return !ceil;
  }
  PoolSizes p = sizes(x, y);
  // Windows of padding only make padding, whatever it is.
  std::copy(p.in, p.in + 3, p.valid);
  for (int axis = 0; axis < 3; ++axis) {
    for (int64_t o = 0; o < p.out[axis]; ++o) {
      if (taps_of(p, axis, o).at.empty()) return false;
    }
  }
  return true;
}

std::unique_ptr<Node> Pool::with_border(const Border& border) const {
  std::optional<Ints> wider = pads_with(pads, border);
  if (kind != PoolKind::max || !index.empty() || !border.lowest || !wider || ceil) return nullptr;
  auto made = clone();
  static_cast<Pool&>(*made).pads = std::move(*wider);
  return made;
}

namespace {

template <class E>
E lp_term(E sum, E v, int64_t power) {
  if constexpr (std::is_same_v<E, double>) {
    const double a = qn_abs_f64(v);
    return power == 1   ? sum + a
           : power == 2 ? qn_fma(a, a, sum)
                        : sum + qn_pow_f64(a, static_cast<double>(power));
  } else {
    const float a = qn_abs_f32(v);
    return power == 1   ? sum + a
           : power == 2 ? qn_fmaf(a, a, sum)
                        : sum + qn_pow_f32(a, static_cast<float>(power));
  }
}
template <class E>
E lp_root(E sum, int64_t power) {
  if (power == 1) return sum;
  if constexpr (std::is_same_v<E, double>) {
    return power == 2 ? qn_sqrt_f64(sum) : qn_pow_f64(sum, 1.0 / static_cast<double>(power));
  } else {
    return power == 2 ? qn_sqrt_f32(sum) : qn_pow_f32(sum, 1.0f / static_cast<float>(power));
  }
}

template <class T>
void eval_pool(const Pool& pool, const PoolSizes& p, const Tensor& x, Tensor& y,
               Tensor* positions) {
  using E = typename T::Element;
  constexpr bool kFloat = !std::numeric_limits<E>::is_integer;
  const int64_t volume = int64_t{p.in[0]} * p.in[1] * p.in[2];
  int64_t at = 0;
  for (int64_t row = 0; row < int64_t{p.n} * p.c; ++row) {
    for (int64_t od = 0; od < p.out[0]; ++od) {
      const Taps td = taps_of(p, 0, od);
      for (int64_t oh = 0; oh < p.out[1]; ++oh) {
        const Taps th = taps_of(p, 1, oh);
        for (int64_t ow = 0; ow < p.out[2]; ++ow, ++at) {
          const Taps tw = taps_of(p, 2, ow);
          E best = kFloat ? E(-std::numeric_limits<double>::infinity())
                          : std::numeric_limits<E>::lowest();
          std::conditional_t<kFloat, Chain<E>, std::monostate> sum;
          bool some = false;
          int64_t position = 0;
          for (int64_t d : td.at) {
            for (int64_t h : th.at) {
              for (int64_t w : tw.at) {
                const E v = T::load(x, row * volume + (d * p.in[1] + h) * p.in[2] + w);
                if constexpr (kFloat) {
                  if (pool.kind == PoolKind::average) sum.add(v);
                  if (pool.kind == PoolKind::lp)
                    sum.take([&](E low) { return lp_term(low, v, pool.power); });
                }
                if (!some || v > best || is_nan(v)) {
                  best = v;
                  position = pool.index == "tensor_reversed" ? (w * p.in[1] + h) * p.in[0] + d
                                                             : (d * p.in[1] + h) * p.in[2] + w;
                  if (pool.index != "plane") position += row * volume;
                }
                some = true;
              }
            }
          }
          if (pool.kind == PoolKind::max) {
            T::store(y, at, best);
            if (positions) positions->mutable_data<int64_t>()[at] = position;
          } else if constexpr (kFloat) {
            int64_t count = static_cast<int64_t>(td.at.size() * th.at.size() * tw.at.size());
            if (p.include) count = td.counted * th.counted * tw.counted;
            if (p.divisor) count = p.divisor;
            T::store(y, at,
                     pool.kind == PoolKind::average ? sum.sum() / static_cast<E>(count)
                                                    : lp_root(sum.sum(), pool.power));
          }
        }
      }
    }
  }
}

}  // namespace

Result<Ok> Pool::eval(EvalContext& c) const {
  const PoolSizes p = sizes(input_type(0).shape, output()->shape());
  int64_t taps = c.out(0).size();
  for (size_t i = 0; i < kernel.size(); ++i)
    taps = saturating_mul(taps, std::min(kernel[i], c.in(0).shape()[i + 2]));
  spend(Cost::work, saturating_mul(taps, 4));
  return for_arithmetic_type(c.in(0).dtype(), loc(), [&](auto type) {
    eval_pool<decltype(type)>(*this, p, c.in(0), c.out(0), index.empty() ? nullptr : &c.out(1));
  });
}

Result<Ok> Pool::lower(Lowering& l) const {
  const DType dtype = l.in_type(0).dtype;
  const bool nhwc = l.in_type(0).layout == Layout::channels_last;
  const auto emit = [&](auto c) {
    fill(c, input_type(0).shape, output()->shape());
    c.nhwc = nhwc ? 1 : 0;
    c.index = index == "tensor" ? 1 : index == "tensor_reversed" ? 2 : 0;
    c.power = static_cast<int32_t>(power);
    c.type = name(dtype);
    c.x = l.in(0);
    c.y = l.out();
    l.emit(c);
    return Ok{};
  };
  if (!index.empty()) {
    kernel::MaxPoolIndex c;
    c.positions = l.out(1);
    return emit(c);
  }
  kernel::Pool c;
  c.op = kind == PoolKind::max ? "max" : kind == PoolKind::lp ? "lp" : "average";
  c.path = nhwc && dtype == DType::f32 && kind != PoolKind::lp ? "nhwc" : "any";
  return emit(c);
}

}  // namespace qc
