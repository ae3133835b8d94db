#include "ops/norm/norm.h"

#include <charconv>

#include "interp/eval.h"
#include "ir/relations.h"
#include "kernels/norm/calls.h"
#include "kernels/numerics/reduce.h"
#include "kernels/numerics/scalar_ops.h"
#include "ops/common/axis.h"
#include "ops/common/dispatch.h"
#include "ops/common/index.h"
#include "program/lowering.h"

namespace qc {

double written_eps(double eps, DType dtype) {
  if (dtype == DType::f64) return eps;
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, static_cast<float>(eps)).ptr;
  double out = eps;
  std::from_chars(text, end, out);
  return out;
}

const OpInfo Norm::kLayer = {
    .name = "layer_norm",
    .max_inputs = 3,
    .outputs = -1,
    .traits = kQuantizedInFloat,
    .summary = "rows to mean 0 and deviation 1, then scaled and shifted",
};
const OpInfo Norm::kRms = {
    .name = "rms_norm",
    .max_inputs = 3,
    .outputs = -1,
    .traits = kQuantizedInFloat,
    .summary = "rows over their root mean square, then scaled",
};
const OpInfo Norm::kGroup = {
    .name = "group_norm",
    .max_inputs = 3,
    .outputs = -1,
    .traits = kQuantizedInFloat,
    .summary = "groups of channels to mean 0 and deviation 1, then scaled and shifted per channel",
};

const OpInfo& Norm::info() const {
  return rows.kind == NormKind::layer ? kLayer : rows.kind == NormKind::rms ? kRms : kGroup;
}

void NormRows::attrs(AttrVisitor& v) {
  if (kind == NormKind::group) {
    v("groups", groups);
  } else {
    v("axis", axis, int64_t{-1});
  }
  v("eps", eps);
}

void Norm::attrs(AttrVisitor& v) {
  rows.attrs(v);
  v("statistics", statistics, false);
}

Result<Dims> NormRows::infer(const Node& node, const Type& x) const {
  if (!is_float(x.dtype) || bits(x.dtype) < 16) {
    return error(Code::type, node.loc(), "{} of {} values", node.op(), name(x.dtype));
  }
  Dims rows;
  Dim parameters(1);
  if (kind == NormKind::group) {
    if (x.rank() < 2 || groups < 1 || groups > INT32_MAX || differ(mod(x.shape[1], groups), 0)) {
      return error(Code::shape, node.loc(), "{} groups of the channels of {}", groups,
                   str(x.shape));
    }
    parameters = x.shape[1];
    rows = {x.shape[0], Dim(groups)};
  } else {
    QC_ASSIGN(int64_t first, resolve_axis(axis, x.rank(), node.loc()));
    rows = x.shape;
    for (int64_t i = first; i < x.rank(); ++i) {
      parameters = parameters * x.shape[static_cast<size_t>(i)];
      rows[static_cast<size_t>(i)] = Dim(1);
    }
  }
  for (size_t i = 1; i < 3; ++i) {
    if (!node.input(i)) continue;
    const Dim given = product(node.input_type(i).shape);
    if (node.input_type(i).dtype != x.dtype || differ(given, parameters)) {
      return error(Code::shape, node.loc(), "{} of {} with parameters {}", node.op(), str(x),
                   str(node.input_type(i)));
    }
  }
  return rows;
}

Result<std::vector<Type>> Norm::infer() const {
  QC_ASSIGN(Dims per_row, rows.infer(*this, input_type(0)));
  const Type& x = input_type(0);
  std::vector<Type> types{x};
  if (statistics) {
    const Type row(x.dtype == DType::f64 ? DType::f64 : DType::f32, std::move(per_row));
    if (rows.kind != NormKind::rms) types.push_back(row);
    types.push_back(row);
  }
  return types;
}

bool NormRows::take_strides(const Node& node, size_t operand, const Dims& strides) const {
  const Dims& x = node.input_type(0).shape;
  const auto last = static_cast<int64_t>(x.size()) - 1;
  return operand == 0 && kind != NormKind::group && (axis == last || axis == -1) &&
         row_blocks(x, strides).has_value();
}

NormRows::Sizes NormRows::sizes(const Dims& x) const {
  Sizes p;
  if (kind == NormKind::group) {
    p.inner = extent(x, 2, x.size());
    p.groups = groups;
    p.n = floordiv(x[1], groups) * p.inner;
    p.rows = x[0] * p.groups;
  } else {
    const auto first = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(x.size()) : axis);
    p.rows = extent(x, 0, first);
    p.n = extent(x, first, x.size());
  }
  return p;
}

namespace {

/// What is added to the variance. In f64 it is the sum of two floats, the largest that fits and the
/// rest: part of the contract, since calls of kernels carry floats.
template <class E>
E small_term(double eps) {
  const float most = static_cast<float>(eps);
  if constexpr (sizeof(E) == 8) {
    return static_cast<E>(most) +
           static_cast<E>(static_cast<float>(eps - static_cast<double>(most)));
  } else {
    return most;
  }
}

/// The arithmetic of f32 and f64 under one name.
struct F32 {
  static float fma(float a, float b, float c) { return qn_fmaf(a, b, c); }
  static float mul(float a, float b) { return qn_mulf(a, b); }
  static float sqrt(float a) { return qn_sqrt_f32(a); }
  static float pow(float a, float b) { return qn_pow_f32(a, b); }
  static float sum(const float* x, int64_t n) { return qn_sum_f32(x, n, 1); }
  static float deviation(const float* x, int64_t n, float mean) {
    return qn_sum_sq_dev_f32(x, n, 1, mean);
  }
};
struct F64 {
  static double fma(double a, double b, double c) { return qn_fma(a, b, c); }
  static double mul(double a, double b) { return qn_mul(a, b); }
  static double sqrt(double a) { return qn_sqrt_f64(a); }
  static double pow(double a, double b) { return qn_pow_f64(a, b); }
  static double sum(const double* x, int64_t n) { return qn_sum_f64(x, n, 1); }
  static double deviation(const double* x, int64_t n, double mean) {
    return qn_sum_sq_dev_f64(x, n, 1, mean);
  }
};
template <class E>
using MathOf = std::conditional_t<std::is_same_v<E, double>, F64, F32>;

/// Calls `body` for the float element types.
template <class F>
Result<Ok> for_float_type(DType dtype, const Loc& loc, F&& body) {
  return for_arithmetic_type(dtype, loc, [&](auto type) {
    if constexpr (!std::numeric_limits<typename decltype(type)::Element>::is_integer) body(type);
  });
}

}  // namespace

Result<Ok> NormRows::eval(const Tensor& x, const Tensor* scale, const Tensor* shift, Tensor& y,
                          Tensor* means, Tensor* rstds, const Loc& loc) const {
  Dims shape(x.shape().begin(), x.shape().end());
  const Sizes s = sizes(shape);
  const int64_t rows = s.rows.value(), n = s.n.value(), inner = s.inner.value();
  return for_float_type(x.dtype(), loc, [&](auto type) {
    using T = decltype(type);
    using E = typename T::Element;
    using M = MathOf<E>;
    std::vector<E> row(static_cast<size_t>(n));
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t i = 0; i < n; ++i) row[static_cast<size_t>(i)] = T::load(x, r * n + i);
      const E mean = kind != NormKind::rms ? M::sum(row.data(), n) / static_cast<E>(n) : E(0);
      const E var = M::deviation(row.data(), n, mean) / static_cast<E>(n);
      const E rstd = E(1) / M::sqrt(var + small_term<E>(eps));
      for (int64_t i = 0; i < n; ++i) {
        const int64_t channel = r % s.groups.value() * (n / inner) + i / inner;
        E v = M::mul(row[static_cast<size_t>(i)] - mean, rstd);
        if (scale && shift) {
          v = M::fma(v, T::load(*scale, channel), T::load(*shift, channel));
        } else if (scale) {
          v = M::mul(v, T::load(*scale, channel));
        } else if (shift) {
          v = v + T::load(*shift, channel);
        }
        T::store(y, r * n + i, v);
      }
      if (means) means->template mutable_data<E>()[r] = mean;
      if (rstds) rstds->template mutable_data<E>()[r] = rstd;
    }
  });
}

Result<Ok> Norm::eval(EvalContext& c) const {
  const bool rms = rows.kind == NormKind::rms;
  return rows.eval(c.in(0), c.has(1) ? &c.in(1) : nullptr, c.has(2) ? &c.in(2) : nullptr, c.out(0),
                   statistics && !rms ? &c.out(1) : nullptr,
                   statistics ? &c.out(rms ? 1 : 2) : nullptr, loc());
}

Result<Ok> Norm::lower(Lowering& l) const {
  const bool rms = rows.kind == NormKind::rms;
  kernel::Norm c;
  rows.fill(c, rows.sizes(l.in_type(0).shape));
  QC_TRY(rows.set_row_strides(c, *this, l));
  if (l.in_type(0).dtype == DType::f64) c.eps_rest = static_cast<float>(rows.eps - c.eps);
  c.type = name(l.in_type(0).dtype);
  c.x = l.in(0);
  c.gamma = l.optional(1);
  c.beta = l.optional(2);
  c.y = l.out();
  if (statistics && !rms) c.mean = l.out(1);
  if (statistics) c.rstd = l.out(rms ? 1 : 2);
  l.emit(c);
  return Ok{};
}

const OpInfo ScaleShiftNode::kInfo = {
    .name = "scale_shift",
    .min_inputs = 3,
    .max_inputs = 3,
    .traits = kAnyLayout | kQuantizedInFloat,
    .summary = "a factor and an addend per channel: batch norm at inference",
};

Result<std::vector<Type>> ScaleShiftNode::infer() const {
  const Type& x = input_type(0);
  if (!is_float(x.dtype) || bits(x.dtype) < 16) {
    return error(Code::type, loc(), "scale_shift of {} values", name(x.dtype));
  }
  if (axis < 0 || axis >= x.rank())
    return error(Code::attribute, loc(), "axis {} of {}", axis, str(x.shape));
  for (size_t i = 1; i < 3; ++i) {
    const Type& t = input_type(i);
    const Dim& size = x.shape[static_cast<size_t>(axis)];
    if (t.dtype != x.dtype || t.rank() != 1 || differ(t.shape[0], size)) {
      return error(Code::shape, loc(), "{} channels have parameters {}", size.str(), str(t));
    }
  }
  return std::vector<Type>{x};
}

Result<Ok> ScaleShiftNode::eval(EvalContext& c) const {
  const Tensor& x = c.in(0);
  int64_t inner = 1;
  for (size_t i = static_cast<size_t>(axis) + 1; i < x.shape().size(); ++i) inner *= x.shape()[i];
  const int64_t channels = x.shape()[static_cast<size_t>(axis)];
  return for_float_type(x.dtype(), loc(), [&](auto type) {
    using T = decltype(type);
    for (int64_t i = 0; i < x.size(); ++i) {
      const int64_t k = i / inner % channels;
      T::store(c.out(0), i,
               MathOf<typename T::Element>::fma(T::load(x, i), T::load(c.in(1), k),
                                                T::load(c.in(2), k)));
    }
  });
}

Result<Ok> ScaleShiftNode::lower(Lowering& l) const {
  const AxisDims view(l.in_dims(0), physical_axis(l.in_type(0), axis));
  kernel::ScaleShift c;
  c.outer = view.outer;
  c.channels = view.n;
  c.inner = view.inner;
  c.type = name(l.in_type(0).dtype);
  c.x = l.in(0);
  c.scale = l.in(1);
  c.shift = l.in(2);
  c.y = l.out();
  l.emit(c, {.in_place = {{0, 0}}});
  return Ok{};
}

Result<std::optional<ScaleShift>> ScaleShiftNode::scale_shift(Graph&, int64_t wanted) const {
  using Found = std::optional<ScaleShift>;
  const bool constant =
      input(1)->is_constant() && input(2)->is_constant() && input(1)->dtype() == DType::f32;
  if (!constant || (wanted >= 0 && wanted != axis)) return Found{};
  return Found{ScaleShift{input(0), axis, input(1), input(2)}};
}

const OpInfo LocalResponseNorm::kInfo = {
    .name = "local_response_norm",
    .traits = kQuantizedInFloat,
    .summary = "elements over a power of the squares of neighbouring channels",
};

Result<std::vector<Type>> LocalResponseNorm::infer() const {
  const Type& x = input_type(0);
  if (!is_float(x.dtype) || bits(x.dtype) < 16 || x.rank() < 2 || size < 1 || size > (1 << 20)) {
    return error(Code::shape, loc(), "local response norm of {} over {} channels", str(x), size);
  }
  return std::vector<Type>{x};
}

Result<Ok> LocalResponseNorm::eval(EvalContext& c) const {
  const Ints& x = c.in(0).shape();
  const int64_t channels = x[1], before = (size - 1) / 2, after = size / 2;
  int64_t inner = 1;
  for (size_t i = 2; i < x.size(); ++i) inner *= x[i];
  const float each = static_cast<float>(alpha / static_cast<double>(size));
  return for_float_type(c.in(0).dtype(), loc(), [&](auto type) {
    using T = decltype(type);
    using E = typename T::Element;
    using M = MathOf<E>;
    for (int64_t at = 0; at < c.in(0).size(); ++at) {
      const int64_t i = at % inner, channel = at / inner % channels, o = at / inner / channels;
      E sum = 0;
      for (int64_t k = std::max<int64_t>(channel - before, 0); k <= channel + after && k < channels;
           ++k) {
        const E e = T::load(c.in(0), (o * channels + k) * inner + i);
        sum = M::fma(e, e, sum);
      }
      sum = M::pow(M::fma(static_cast<E>(each), sum, static_cast<E>(static_cast<float>(bias))),
                   static_cast<E>(static_cast<float>(beta)));
      T::store(c.out(0), at, T::load(c.in(0), at) / sum);
    }
  });
}

Result<Ok> LocalResponseNorm::lower(Lowering& l) const {
  const AxisDims view(l.in_dims(0), 1);
  kernel::Lrn c;
  c.outer = view.outer;
  c.channels = view.n;
  c.inner = view.inner;
  c.before = static_cast<int32_t>((size - 1) / 2);
  c.after = static_cast<int32_t>(size / 2);
  c.alpha = static_cast<float>(alpha / static_cast<double>(size));
  c.beta = static_cast<float>(beta);
  c.bias = static_cast<float>(bias);
  c.type = name(l.in_type(0).dtype);
  c.x = l.in(0);
  c.y = l.out();
  l.emit(c);
  return Ok{};
}

}  // namespace qc
