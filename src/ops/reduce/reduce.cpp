#include "ops/reduce/reduce.h"

#include "interp/eval.h"
#include "kernels/numerics/reduce.h"
#include "kernels/numerics/scalar_ops.h"
#include "kernels/reduce/calls.h"
#include "ops/common/broadcast.h"
#include "ops/common/dispatch.h"
#include "ops/common/registration.h"
#include "ops/common/strided.h"

namespace qc {
namespace {

#define QC_REDUCE(kind, what, more)                           \
  {                                                           \
    ReduceKind::kind, #kind, {                                \
      .name = "reduce_" #kind, .traits = kAnyLayout | (more), \
      .summary = what " over the given axes"                  \
    }                                                         \
  }
const ReduceOp kReduceOps[] = {
    QC_REDUCE(sum, "sum", 0),
    QC_REDUCE(mean, "mean", 0),
    QC_REDUCE(max, "maximum", kOnCodes),
    QC_REDUCE(min, "minimum", kOnCodes),
    QC_REDUCE(prod, "product", kQuantizedInFloat),
    QC_REDUCE(l1, "sum of magnitudes", kQuantizedInFloat),
    QC_REDUCE(l2, "root of the sum of squares", kQuantizedInFloat),
    QC_REDUCE(sum_square, "sum of squares", kQuantizedInFloat),
    QC_REDUCE(log_sum, "logarithm of the sum", kQuantizedInFloat),
    QC_REDUCE(log_sum_exp, "logarithm of the sum of exponentials", kQuantizedInFloat),
    QC_REDUCE(var, "variance", kQuantizedInFloat),
    QC_REDUCE(std, "standard deviation", kQuantizedInFloat),
    QC_REDUCE(any, "logical or", 0),
    QC_REDUCE(all, "logical and", 0),
};
#undef QC_REDUCE

bool has_integers(ReduceKind kind) {
  return kind <= ReduceKind::l1 || kind == ReduceKind::sum_square;
}
bool is_bool(ReduceKind kind) { return kind >= ReduceKind::any; }

/// The functions of kernels/numerics on T, so that one template serves float and double.
#define QC_FLOAT_ROW(T, t)                                                                    \
  T row_sum(const std::vector<T>& x) { return qn_sum_##t(x.data(), std::ssize(x), 1); }       \
  T row_max(const std::vector<T>& x) { return qn_row_max_##t(x.data(), std::ssize(x), 1); }   \
  T row_min(const std::vector<T>& x) { return qn_row_min_##t(x.data(), std::ssize(x), 1); }   \
  T row_prod(const std::vector<T>& x) { return qn_prod_##t(x.data(), std::ssize(x), 1); }     \
  T row_abs(const std::vector<T>& x) { return qn_sum_abs_##t(x.data(), std::ssize(x), 1); }   \
  T row_square(const std::vector<T>& x) { return qn_sum_sq_##t(x.data(), std::ssize(x), 1); } \
  T row_deviation(const std::vector<T>& x, T mean) {                                          \
    return qn_sum_sq_dev_##t(x.data(), std::ssize(x), 1, mean);                               \
  }                                                                                           \
  T exp_of(T v) { return qn_exp_##t(v); }                                                     \
  T log_of(T v) { return qn_log_##t(v); }                                                     \
  T sqrt_of(T v) { return qn_sqrt_##t(v); }                                                   \
  bool is_infinite(T v) { return qn_isinf_##t(v) != 0; }
QC_FLOAT_ROW(float, f32)
QC_FLOAT_ROW(double, f64)
#undef QC_FLOAT_ROW

template <class T>
T reduce_floats(ReduceKind kind, std::vector<T>& x, T correction) {
  const T n = static_cast<T>(x.size());
  switch (kind) {
    case ReduceKind::sum:
      return row_sum(x);
    case ReduceKind::mean:
      return row_sum(x) / n;
    case ReduceKind::max:
      return row_max(x);
    case ReduceKind::min:
      return row_min(x);
    case ReduceKind::prod:
      return row_prod(x);
    case ReduceKind::l1:
      return row_abs(x);
    case ReduceKind::l2:
      return sqrt_of(row_square(x));
    case ReduceKind::sum_square:
      return row_square(x);
    case ReduceKind::log_sum:
      return log_of(row_sum(x));
    case ReduceKind::log_sum_exp: {
      const T top = row_max(x), shift = is_infinite(top) ? T{0} : top;
      for (T& v : x) v = exp_of(v - shift);
      return log_of(row_sum(x)) + shift;
    }
    default:
      break;
  }
  const T divisor = n > correction ? n - correction : T{0};
  const T var = row_deviation(x, row_sum(x) / n) / divisor;
  return kind == ReduceKind::std ? sqrt_of(var) : var;
}

template <class T>
T reduce_ints(ReduceKind kind, const std::vector<T>& x) {
  // Unsigned arithmetic wraps, whatever T is.
  using U = uint64_t;
  U sum = 0, product = 1, magnitudes = 0, squares = 0;
  T low = std::numeric_limits<T>::max(), high = std::numeric_limits<T>::min();
  for (T v : x) {
    sum += static_cast<U>(v);
    product *= static_cast<U>(v);
    squares += static_cast<U>(v) * static_cast<U>(v);
    magnitudes += v < 0 ? U{0} - static_cast<U>(v) : static_cast<U>(v);
    low = std::min(low, v);
    high = std::max(high, v);
  }
  switch (kind) {
    case ReduceKind::mean: {
      const auto n = static_cast<int64_t>(x.size());
      const T total = static_cast<T>(sum);
      if (n == 0) return 0;
      if constexpr (std::is_signed_v<T>) return static_cast<T>(total / n);
      return static_cast<T>(total / static_cast<U>(n));
    }
    case ReduceKind::max:
      return high;
    case ReduceKind::min:
      return low;
    case ReduceKind::prod:
      return static_cast<T>(product);
    case ReduceKind::l1:
      return static_cast<T>(magnitudes);
    case ReduceKind::sum_square:
      return static_cast<T>(squares);
    default:
      return static_cast<T>(sum);
  }
}

}  // namespace

void ReduceLoops::add(const Dim& dim, const Dim& stride) {
  if (dim == 1) return;
  if (!dims.empty() && strides.back() == stride * dim) {
    dims.back() = dims.back() * dim;
    strides.back() = stride;
  } else {
    dims.push_back(dim);
    strides.push_back(stride);
  }
}

Result<Ok> ReduceLoops::fill(const Lowering& l, Dim& rank, Dim* d, Dim* s) {
  if (dims.empty()) dims = strides = {1};
  const BroadcastPlan plan{dims, {strides}};
  Dim* const out[] = {s};
  return fill_loops(l, plan, rank, d, out);
}

ReducePlan plan_reduce(const Type& x, const Type& y, const std::vector<bool>& gone, bool keepdims) {
  ReducePlan plan;
  const Dims strides = strides_of(x);
  std::vector<size_t> remaining(static_cast<size_t>(y.rank()), gone.size());
  for (size_t i = 0, at = 0; i < gone.size(); ++i) {
    if (gone[i]) plan.inner.add(x.shape[i], strides[i]);
    if (!gone[i]) remaining[static_cast<size_t>(physical_axis(y, static_cast<int64_t>(at)))] = i;
    if (!gone[i] || keepdims) ++at;
  }
  for (size_t i : remaining) {
    if (i < gone.size()) plan.outer.add(x.shape[i], strides[i]);
  }
  return plan;
}

Result<std::vector<bool>> ReducedAxes::reduced(int64_t rank, const Loc& loc) const {
  std::vector<bool> out(static_cast<size_t>(rank), axes.empty());
  for (int64_t axis : axes) {
    QC_ASSIGN(axis, resolve_axis(axis, rank, loc));
    if (out[static_cast<size_t>(axis)])
      return error(Code::attribute, loc, "axis {} is given twice", axis);
    out[static_cast<size_t>(axis)] = true;
  }
  return out;
}

Result<Dims> ReducedAxes::shape(const Type& x, const Loc& loc) const {
  QC_ASSIGN(const std::vector<bool> gone, reduced(x.rank(), loc));
  Dims y;
  for (size_t i = 0; i < gone.size(); ++i) {
    if (!gone[i])
      y.push_back(x.shape[i]);
    else if (keepdims)
      y.push_back(Dim(1));
  }
  return y;
}

void Reduce::attrs(AttrVisitor& v) {
  v("axes", axes, Ints{});
  v("keepdims", keepdims, true);
  if (op_->kind == ReduceKind::var || op_->kind == ReduceKind::std)
    v("correction", correction, 1.0);
}

Result<std::vector<Type>> Reduce::infer() const {
  const Type& x = input_type(0);
  const bool fits = is_bool(op_->kind)    ? x.dtype == DType::boolean
                    : is_float(x.dtype)   ? bits(x.dtype) >= 16
                    : is_integer(x.dtype) ? bits(x.dtype) >= 8 && has_integers(op_->kind)
                                          : false;
  if (!fits) return error(Code::type, loc(), "{} of {} values", op(), name(x.dtype));
  QC_ASSIGN(Dims remaining, shape(x, loc()));
  Type y(x.dtype, std::move(remaining));
  if (keepdims) y.layout = x.layout;
  if (x.format && info().has(kOnCodes) && x.format->granularity == Granularity::tensor) {
    const bool empty = product(x.shape) == Dim(0);
    if (empty) return error(Code::unsupported, loc(), "{} of no codes", op());
    y.format = x.format;
  }
  return std::vector<Type>{y};
}

std::optional<Dims> Reduce::contents() const {
  if (!is_integer(input_type(0).dtype) || input(0)->rank() != 1) return std::nullopt;
  const auto x = known_ints(input(0));
  if (!x || x->empty()) return std::nullopt;
  Dim y = (*x)[0];
  for (size_t i = 1; i < x->size(); ++i) {
    const Dim& d = (*x)[i];
    if (op_->kind == ReduceKind::sum)
      y = y + d;
    else if (op_->kind == ReduceKind::prod)
      y = y * d;
    else if (op_->kind == ReduceKind::max)
      y = max(y, d);
    else if (op_->kind == ReduceKind::min)
      y = min(y, d);
    else
      return std::nullopt;
  }
  return Dims{y};
}

Result<Ok> Reduce::eval(EvalContext& c) const {
  const Tensor& x = c.in(0);
  Tensor& y = c.out(0);
  QC_ASSIGN(const std::vector<bool> gone, reduced(input_type(0).rank(), loc()));
  const Ints strides = strides_of(x.shape());
  BroadcastPlan outer{{1}, {{0}}}, inner{{1}, {{0}}};
  for (size_t i = 0; i < gone.size(); ++i) {
    BroadcastPlan& plan = gone[i] ? inner : outer;
    plan.dims.push_back(x.shape()[i]);
    plan.strides[0].push_back(strides[i]);
  }
  std::vector<int64_t> offsets;  // of a row's elements
  for_each_offset(inner, [&](int64_t, const int64_t* at) { offsets.push_back(at[0]); });
  const DType computed = x.dtype() == DType::boolean ? DType::u8 : x.dtype();
  return for_arithmetic_type(computed, loc(), [&](auto type) {
    using E = decltype(type);
    using T = typename E::Element;
    std::vector<T> row(offsets.size());
    for_each_offset(outer, [&](int64_t o, const int64_t* at) {
      for (size_t i = 0; i < row.size(); ++i) row[i] = E::load(x, at[0] + offsets[i]);
      if constexpr (std::is_floating_point_v<T>) {
        E::store(y, o, reduce_floats<T>(op_->kind, row, static_cast<float>(correction)));
      } else if (is_bool(op_->kind)) {
        const bool any = op_->kind == ReduceKind::any;
        bool result = !any;
        for (T v : row) result = any ? result || v != 0 : result && v != 0;
        E::store(y, o, static_cast<T>(result));
      } else {
        E::store(y, o, reduce_ints<T>(op_->kind, row));
      }
    });
  });
}

Result<Ok> Reduce::lower(Lowering& l) const {
  QC_ASSIGN(const std::vector<bool> gone, reduced(input_type(0).rank(), loc()));
  const Type &x = l.in_type(0), &y = l.out_type();
  ReducePlan plan = plan_reduce(x, y, gone, keepdims);
  kernel::Reduce params;
  QC_TRY(plan.outer.fill(l, params.outer_rank, params.outer_dims, params.outer_strides));
  QC_TRY(plan.inner.fill(l, params.inner_rank, params.inner_dims, params.inner_strides));
  params.correction = static_cast<float>(correction);
  params.op = op_->name;
  params.type = name(x.dtype);
  params.x = l.in(0);
  params.y = l.out();
  l.emit(params);
  return Ok{};
}

void register_reduce(Registration& r) {
  r.op(&QReduce::kSum, [] { return std::make_unique<QReduce>(false); });
  r.op(&QReduce::kMean, [] { return std::make_unique<QReduce>(true); });
  for (const ReduceOp& op : kReduceOps) {
    r.op(&op.info, [p = &op] { return std::unique_ptr<Node>(std::make_unique<Reduce>(p)); });
  }
  r.imports(reduce_onnx_rows());
  r.imports(reduce_aten_rows());
}

}  // namespace qc
