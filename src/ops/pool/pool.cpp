#include "ops/pool/pool.h"

#include "interp/eval.h"
#include "kernels/c/pool/pool.h"
#include "kernels/numerics/scalar_ops.h"
#include "ops/common/dispatch.h"
#include "ops/common/registration.h"
#include "ops/common/window.h"
#include "program/lowering.h"

namespace qc {

const OpInfo Pool::kMax = {
    .name = "max_pool",
    .outputs = -1,
    .traits = kAnyLayout,
    .summary = "the largest element under each window, optionally with its place",
};
const OpInfo Pool::kAverage = {
    .name = "average_pool",
    .traits = kAnyLayout,
    .summary = "the mean of the elements under each window",
};
const OpInfo Pool::kLp = {
    .name = "lp_pool",
    .traits = kAnyLayout,
    .summary = "the p-norm of the elements under each window",
};

const OpInfo& Pool::info() const {
  return kind == PoolKind::max ? kMax : kind == PoolKind::average ? kAverage : kLp;
}

void Pool::attrs(AttrVisitor& v) {
  v("kernel", kernel, Ints{});
  v("strides", strides, Ints{});
  v("dilations", dilations, Ints{});
  v("pads", pads, Ints{});
  v("output_size", output_size, Ints{});
  v("ceil", ceil, false);
  if (kind == PoolKind::max) v("index", index, std::string());
  if (kind == PoolKind::average) {
    v("include_pad", include_pad, false);
    v("divisor", divisor, int64_t{0});
  }
  if (kind == PoolKind::lp) v("power", power, int64_t{2});
}

Result<std::vector<Type>> Pool::infer() const {
  const Type& x = input_type(0);
  if (x.rank() < 3 || x.rank() > 5) {
    return error(Code::shape, loc(), "pool needs a rank from 3 to 5, got {}", str(x.shape));
  }
  QC_TRY(arithmetic_suffix(x.dtype, loc()));
  if (kind != PoolKind::max && !is_float(x.dtype)) {
    return error(Code::type, loc(), "{} of {} values", op(), name(x.dtype));
  }
  const size_t axes = static_cast<size_t>(x.rank()) - 2;
  Type y = x;
  y.shape.resize(2);
  if (!output_size.empty()) {
    if (output_size.size() != axes) {
      return error(Code::attribute, loc(), "{} output sizes for {} axes", output_size.size(), axes);
    }
    for (size_t i = 0; i < axes; ++i) {
      const Dim& in = x.shape[2 + i];
      if (!fits_window(output_size[i], 1) || (in.is_static() && !fits_window(in.value(), 1))) {
        return error(Code::shape, loc(), "cannot pool a size of {} to {}", in.str(),
                     output_size[i]);
      }
      y.shape.push_back(Dim(output_size[i]));
    }
  } else {
    QC_TRY(check_window(kernel, strides, dilations, pads, axes, loc()));
    for (size_t i = 0; i < axes; ++i) {
      QC_ASSIGN(Dim size, window_extent(x.shape[2 + i], kernel[i], strides[i], dilations[i],
                                        pads[i], pads[axes + i], ceil, loc()));
      y.shape.push_back(size);
    }
  }
  if (divisor < 0 || divisor > INT32_MAX || power < 1 || power > INT32_MAX) {
    return error(Code::attribute, loc(), "divisor {} and power {} must be positive", divisor,
                 power);
  }
  if (index.empty()) return std::vector<Type>{y};
  if (index != "plane" && index != "tensor" && index != "tensor_reversed") {
    return error(Code::attribute, loc(), "index is '{}', expected plane, tensor or tensor_reversed",
                 index);
  }
  Type places = y;
  places.dtype = DType::i64;
  places.format = nullptr;
  return std::vector<Type>{y, places};
}

namespace {

qk_pool_params pool_params(const Pool& pool) {
  qk_pool_params p{};
  const Ints x = static_dims(pool.input_type(0).shape), y = static_dims(pool.output()->shape());
  const size_t axes = x.size() - 2;
  auto i32 = [](int64_t v) { return static_cast<int32_t>(v); };
  p.n = i32(x[0]);
  p.c = i32(x[1]);
  p.adaptive = pool.output_size.empty() ? 0 : 1;
  for (size_t i = 0; i < 3; ++i) {
    const bool used = i + axes >= 3, window = used && !p.adaptive;
    const size_t a = used ? i + axes - 3 : 0;
    p.in[i] = used ? i32(x[2 + a]) : 1;
    p.out[i] = used ? i32(y[2 + a]) : 1;
    p.k[i] = window ? i32(pool.kernel[a]) : 1;
    p.stride[i] = window ? i32(pool.strides[a]) : 1;
    p.dilation[i] = window ? i32(pool.dilations[a]) : 1;
    p.pad[i] = window ? i32(pool.pads[a]) : 0;
    p.end[i] = window ? i32(pool.pads[axes + a]) : 0;
  }
  p.include = pool.include_pad ? 1 : 0;
  p.index = pool.index == "tensor" ? 1 : pool.index == "tensor_reversed" ? 2 : 0;
  p.divisor = i32(pool.divisor);
  p.power = i32(pool.power);
  return p;
}

/// Input positions a window takes along one axis, and how many of its taps are in the padded input.
struct Taps {
  Ints at;
  int64_t counted = 0;
};

Taps taps_of(const qk_pool_params& p, int axis, int64_t o) {
  Taps taps;
  const int64_t in = p.in[axis], out = p.out[axis];
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
void eval_pool(const Pool& pool, const qk_pool_params& p, const Tensor& x, Tensor& y,
               Tensor* places) {
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
          E sum = 0;
          bool some = false;
          int64_t place = 0;
          for (int64_t d : td.at) {
            for (int64_t h : th.at) {
              for (int64_t w : tw.at) {
                const E v = T::load(x, row * volume + (d * p.in[1] + h) * p.in[2] + w);
                if (pool.kind == PoolKind::average) sum = static_cast<E>(sum + v);
                if constexpr (kFloat) {
                  if (pool.kind == PoolKind::lp) sum = lp_term(sum, v, pool.power);
                }
                if (!some || v > best || v != v) {
                  best = v;
                  place = p.index == 2 ? (w * p.in[1] + h) * p.in[0] + d
                                       : (d * p.in[1] + h) * p.in[2] + w;
                  if (p.index != 0) place += row * volume;
                }
                some = true;
              }
            }
          }
          if (pool.kind == PoolKind::max) {
            T::store(y, at, best);
            if (places) places->mutable_data<int64_t>()[at] = place;
          } else if constexpr (kFloat) {
            int64_t count = static_cast<int64_t>(td.at.size() * th.at.size() * tw.at.size());
            if (p.include) count = td.counted * th.counted * tw.counted;
            if (p.divisor) count = p.divisor;
            T::store(y, at,
                     pool.kind == PoolKind::average ? sum / static_cast<E>(count)
                                                    : lp_root(sum, pool.power));
          }
        }
      }
    }
  }
}

}  // namespace

Result<Ok> Pool::eval(EvalContext& c) const {
  const qk_pool_params p = pool_params(*this);
  return for_arithmetic_type(c.in(0).dtype(), loc(), [&](auto type) {
    eval_pool<decltype(type)>(*this, p, c.in(0), c.out(0), index.empty() ? nullptr : &c.out(1));
  });
}

Result<Ok> Pool::lower(Lowering& l) const {
  qk_pool_params p = pool_params(*this);
  const DType dtype = l.in_type(0).dtype;
  p.last = l.in_type(0).layout == Layout::channels_last ? 1 : 0;
  std::string kernel = "qk_" + std::string(op());
  if (!index.empty()) {
    kernel += "_index";
  } else if (p.last && dtype == DType::f32 && kind != PoolKind::lp) {
    kernel += "_last";
  }
  std::vector<View> out{l.out()};
  if (!index.empty()) out.push_back(l.out(1));
  l.call(kernel + "_" + std::string(name(dtype)), p, {l.in(0)}, out);
  return Ok{};
}

}  // namespace qc
