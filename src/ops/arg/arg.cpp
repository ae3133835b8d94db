#include "ops/arg/arg.h"

#include <algorithm>
#include <numeric>

#include "interp/eval.h"
#include "ir/relations.h"
#include "kernels/arg/calls.h"
#include "kernels/numerics/base.h"
#include "ops/common/axis.h"
#include "ops/common/dispatch.h"
#include "ops/common/nan.h"
#include "ops/common/registration.h"
#include "ops/common/strided.h"

namespace qc {
namespace {

const OpInfo kArgMax = {.name = "argmax",
                        .traits = kOnCodes,
                        .summary = "position of the largest element along an axis"};
const OpInfo kArgMin = {.name = "argmin",
                        .traits = kOnCodes,
                        .summary = "position of the smallest element along an axis"};

bool is_ordered(DType d) { return bits(d) >= 8 && !(is_float(d) && bits(d) == 8); }
DType ordered_as(DType d) { return d == DType::boolean ? DType::u8 : d; }

/// Order with NaN above every number.
template <class T>
bool above(T a, T b) {
  return is_nan(a) ? !is_nan(b) : a > b;
}

}  // namespace

const OpInfo& ArgExtreme::info() const { return largest_ ? kArgMax : kArgMin; }

Result<std::vector<Type>> ArgExtreme::infer() const {
  const Type& x = input_type(0);
  if (!is_ordered(x.dtype)) return error(Code::type, loc(), "{} of {} values", op(), name(x.dtype));
  if (x.format && x.format->granularity != Granularity::tensor) {
    return error(Code::quant, loc(), "{} of codes with several scales, {}", op(), str(x));
  }
  QC_ASSIGN(const int64_t at, resolve_axis(axis, x.rank(), loc()));
  if (x.shape[static_cast<size_t>(at)] == Dim(0)) {
    return error(Code::shape, loc(), "axis {} has no elements", axis);
  }
  Type y(DType::i64, x.shape);
  if (keepdims)
    y.shape[static_cast<size_t>(at)] = Dim(1);
  else
    y.shape.erase(y.shape.begin() + at);
  return std::vector<Type>{y};
}

Result<Ok> ArgExtreme::eval(EvalContext& c) const {
  const Tensor& x = c.in(0);
  QC_ASSIGN(const int64_t at, resolve_axis(axis, x.rank(), loc()));
  const AxisView view(x.shape(), at);
  int64_t* y = c.out(0).mutable_data<int64_t>();
  return for_arithmetic_type(ordered_as(x.dtype()), loc(), [&](auto type) {
    using E = decltype(type);
    view.for_each_row([&](int64_t start) {
      int64_t best = 0;
      for (int64_t k = 1; k < view.n; ++k) {
        const auto v = E::load(x, start + k * view.inner),
                   b = E::load(x, start + best * view.inner);
        const bool better = is_nan(v) || is_nan(b) ? is_nan(v) && !is_nan(b)
                            : largest_             ? v > b
                                                   : v < b;
        const bool equal = v == b || (is_nan(v) && is_nan(b));
        if (better || (select_last && equal)) best = k;
      }
      *y++ = best;
    });
  });
}

Result<Ok> ArgExtreme::lower(Lowering& l) const {
  QC_ASSIGN(const int64_t at, resolve_axis(axis, l.in_type(0).rank(), loc()));
  const AxisDims view(l.in_dims(0), at);
  kernel::Arg c;
  QC_ASSIGN(c.type, arithmetic_suffix(ordered_as(l.in_type(0).dtype), loc()));
  QC_TRY(l.param(view.outer * view.n * view.inner));
  c.outer = view.outer;
  c.n = view.n;
  c.inner = view.inner;
  c.last = select_last;
  c.op = largest_ ? "max" : "min";
  c.x = l.in(0);
  c.y = l.out();
  l.emit(c);
  return Ok{};
}

const OpInfo Sort::kInfo = {
    .name = "sort",
    .outputs = 2,
    .traits = kOnCodes,
    .summary = "the first k elements along an axis in sorted order, and their positions",
};

Result<std::vector<Type>> Sort::infer() const {
  const Type& x = input_type(0);
  if (!is_ordered(x.dtype)) return error(Code::type, loc(), "sort of {} values", name(x.dtype));
  QC_ASSIGN(const int64_t at, resolve_axis(axis, x.rank(), loc()));
  const Dim& n = x.shape[static_cast<size_t>(at)];
  if (exceeds(0, k) || exceeds(k, n)) {
    return error(Code::attribute, loc(), "k is {}, axis {} has {} elements", k.str(), axis,
                 n.str());
  }
  Type values = moved(x, x.shape), positions(DType::i64, x.shape);
  values.layout = Layout::row_major;
  values.shape[static_cast<size_t>(at)] = positions.shape[static_cast<size_t>(at)] = k;
  return std::vector<Type>{values, positions};
}

Result<Ok> Sort::eval(EvalContext& c) const {
  const Tensor& x = c.in(0);
  QC_ASSIGN(const int64_t at, resolve_axis(axis, x.rank(), loc()));
  const AxisView view(x.shape(), at), result(c.out(0).shape(), at);
  int64_t* positions = c.out(1).mutable_data<int64_t>();
  return for_arithmetic_type(ordered_as(x.dtype()), loc(), [&](auto type) {
    using E = decltype(type);
    std::vector<int64_t> order(static_cast<size_t>(view.n));
    int64_t row = 0;
    view.for_each_row([&](int64_t start) {
      const auto value = [&](int64_t i) { return E::load(x, start + i * view.inner); };
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        return descending ? above(value(a), value(b)) : above(value(b), value(a));
      });
      const int64_t to = row / view.inner * result.n * view.inner + row % view.inner;
      for (int64_t i = 0; i < result.n; ++i) {
        const int64_t from = order[static_cast<size_t>(i)];
        E::store(c.out(0), to + i * view.inner, value(from));
        positions[to + i * view.inner] = from;
      }
      ++row;
    });
  });
}

Result<Ok> Sort::lower(Lowering& l) const {
  QC_ASSIGN(const int64_t at, resolve_axis(axis, l.in_type(0).rank(), loc()));
  const AxisDims view(l.in_dims(0), at);
  kernel::Sort c;
  QC_ASSIGN(c.type, arithmetic_suffix(ordered_as(l.in_type(0).dtype), loc()));
  QC_TRY(l.param(view.outer * view.n * view.inner));
  c.outer = view.outer;
  c.n = view.n;
  c.inner = view.inner;
  c.k = k;
  c.descending = descending;
  c.x = l.in(0);
  c.values = l.out(0);
  c.positions = l.out(1);
  l.emit(c);
  return Ok{};
}

const OpInfo Histogram::kInfo = {
    .name = "histogram",
    .summary = "counts of the elements in equal parts of a range",
};

Result<std::vector<Type>> Histogram::infer() const {
  const Type& x = input_type(0);
  if (x.dtype != DType::f32 && x.dtype != DType::f64) {
    return error(Code::type, loc(), "histogram of {} values", name(x.dtype));
  }
  if (bins < 1 || bins > (1 << 24)) return error(Code::attribute, loc(), "{} bins", bins);
  if (!(static_cast<float>(low) < static_cast<float>(high))) {
    return error(Code::unsupported, loc(), "a histogram from {} to {}, whose range the data decide",
                 low, high);
  }
  return std::vector<Type>{Type(x.dtype, {Dim(bins)})};
}

Result<Ok> Histogram::eval(EvalContext& c) const {
  const Tensor& x = c.in(0);
  return for_arithmetic_type(x.dtype(), loc(), [&](auto type) {
    using E = decltype(type);
    using T = typename E::Element;
    if constexpr (std::is_floating_point_v<T>) {
      const T from = static_cast<float>(low), to = static_cast<float>(high),
              count = static_cast<T>(bins);
      for (int64_t i = 0; i < x.size(); ++i) {
        const T v = E::load(x, i);
        if (!(v >= from && v <= to)) continue;
        const auto bin = std::min(static_cast<int64_t>((v - from) * count / (to - from)), bins - 1);
        E::store(c.out(0), bin, E::load(c.out(0), bin) + 1);
      }
    }
  });
}

Result<Ok> Histogram::lower(Lowering& l) const {
  QC_ASSIGN(const Dim n, l.param(count(l.in_dims(0))));
  kernel::Histogram c;
  c.n = n;
  c.bins = static_cast<int32_t>(bins);
  c.low = static_cast<float>(low);
  c.high = static_cast<float>(high);
  c.type = name(l.in_type(0).dtype);
  c.x = l.in(0);
  c.y = l.out();
  l.emit(c);
  return Ok{};
}

void register_arg(Registration& r) {
  r.op(&kArgMax, [] { return std::unique_ptr<Node>(std::make_unique<ArgExtreme>(true)); });
  r.op(&kArgMin, [] { return std::unique_ptr<Node>(std::make_unique<ArgExtreme>(false)); });
  r.op<Sort>();
  r.op<Histogram>();
  r.imports(arg_rows());
}

}  // namespace qc
