#include <algorithm>
#include <cmath>

#include "ops/common/importing.h"
#include "ops/common/narrow.h"
#include "ops/common/rank0.h"
#include "ops/reduce/reduce.h"

namespace qc {
namespace {

/// `dim` (one axis, a list, or none for all) and `keepdim`.
Result<AttrMap> axes_of(const Import& m) {
  QC_ASSIGN(const Ints axes, m.ints("dim", {}));
  QC_ASSIGN(const bool keepdims, m.b("keepdim", false));
  return AttrMap{{"axes", axes}, {"keepdims", keepdims}};
}

/// Normalises the axes: counted from the front and sorted. A rank-0 tensor accepts axes 0 and -1,
/// which reduce nothing.
Result<Value*> reduce(const Import& m, const char* op, Value* x, AttrMap attrs) {
  Ints axes = std::get<Ints>(attrs.at("axes"));
  if (x->rank() == 0) axes.clear();
  for (int64_t& axis : axes) axis += axis < 0 && axis >= -x->rank() ? x->rank() : 0;
  std::sort(axes.begin(), axes.end());
  attrs["axes"] = axes;
  return m.emit(op, {x}, attrs);
}

/// sum and prod: integers and bool accumulate in i64.
template <OpName kName>
Result<Values> aten_sum(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(const DType type, m.dtype("dtype", is_float(x->dtype()) ? x->dtype() : DType::i64));
  QC_ASSIGN(x, m.cast(x, type));
  QC_ASSIGN(const AttrMap attrs, axes_of(m));
  return one(reduce(m, kName.text, x, attrs));
}

Result<Values> aten_mean(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(const DType type, m.dtype("dtype", x->dtype()));
  QC_ASSIGN(x, m.cast(x, type));
  QC_ASSIGN(const AttrMap attrs, axes_of(m));
  return one(reduce(m, "reduce_mean", x, attrs));
}

/// NaN as zero.
Result<Value*> without_nan(const Import& m, Value* x) {
  if (!is_float(x->dtype())) return x;
  QC_ASSIGN(Value * nan, m.emit("isnan", {x}));
  return m.emit("where", {nan, m.scalar(0, x->dtype()), x});
}

Result<Values> aten_nansum(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(x, without_nan(m, x));
  QC_ASSIGN(const DType type, m.dtype("dtype", is_float(x->dtype()) ? x->dtype() : DType::i64));
  QC_ASSIGN(x, m.cast(x, type));
  QC_ASSIGN(const AttrMap attrs, axes_of(m));
  return one(reduce(m, "reduce_sum", x, attrs));
}

/// The mean of the elements that are not NaN.
Result<Values> aten_nanmean(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(const DType type, m.dtype("dtype", x->dtype()));
  QC_ASSIGN(x, m.cast(x, computed_in(type)));
  QC_ASSIGN(const AttrMap attrs, axes_of(m));
  QC_ASSIGN(Value * counted, m.emit("eq", {x, x}));
  QC_ASSIGN(counted, m.cast(counted, x->dtype()));
  QC_ASSIGN(counted, reduce(m, "reduce_sum", counted, attrs));
  QC_ASSIGN(x, without_nan(m, x));
  QC_ASSIGN(x, reduce(m, "reduce_sum", x, attrs));
  QC_ASSIGN(x, m.emit("div", {x, counted}));
  return one(m.cast(x, type));
}

Result<Value*> extreme(const Import& m, Value* x, bool largest, const AttrMap& attrs) {
  if (x->dtype() == DType::boolean)
    return reduce(m, largest ? "reduce_any" : "reduce_all", x, attrs);
  return reduce(m, largest ? "reduce_max" : "reduce_min", x, attrs);
}
template <bool kLargest>
Result<Values> aten_extreme(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(const AttrMap attrs, axes_of(m));
  return one(extreme(m, x, kLargest, attrs));
}

/// max.dim, min.dim: the values and where they are.
template <bool kLargest>
Result<Values> aten_extreme_dim(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(const AttrMap attrs, axes_of(m));
  QC_ASSIGN(Value * values, extreme(m, x, kLargest, attrs));
  if (!m.wants(1)) return Values{values, m.scalar_int(0, DType::i64)};
  QC_ASSIGN(const int64_t axis, m.i("dim", 0));
  QC_ASSIGN(const bool keepdims, m.b("keepdim", false));
  QC_ASSIGN(Value * index,
            m.emit(kLargest ? "argmax" : "argmin", {x}, {{"axis", axis}, {"keepdims", keepdims}}));
  return Values{values, index};
}

Result<Values> aten_aminmax(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(const AttrMap attrs, axes_of(m));
  QC_ASSIGN(Value * low, extreme(m, x, false, attrs));
  QC_ASSIGN(Value * high, extreme(m, x, true, attrs));
  return Values{low, high};
}

/// any and all: bool, but of u8 their result is u8.
template <OpName kName>
Result<Values> aten_truth(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  const DType result = x->dtype() == DType::u8 ? DType::u8 : DType::boolean;
  QC_ASSIGN(x, m.cast(x, DType::boolean));
  QC_ASSIGN(const AttrMap attrs, axes_of(m));
  QC_ASSIGN(Value * y, reduce(m, kName.text, x, attrs));
  return one(m.cast(y, result));
}

Result<Values> aten_count_nonzero(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(x, m.cast(x, DType::boolean));
  QC_ASSIGN(x, m.cast(x, DType::i64));
  QC_ASSIGN(const AttrMap attrs, axes_of(m));
  return one(reduce(m, "reduce_sum", x, attrs));
}

/// The attributes of var and std in all overloads: `correction`, or the older `unbiased`.
Result<AttrMap> spread_attrs(const Import& m) {
  QC_ASSIGN(AttrMap attrs, axes_of(m));
  QC_ASSIGN(const bool unbiased, m.b("unbiased", true));
  QC_ASSIGN(const double correction, m.f("correction", unbiased ? 1 : 0));
  attrs["correction"] = correction;
  return attrs;
}
template <OpName kName>
Result<Values> aten_spread(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(const AttrMap attrs, spread_attrs(m));
  return one(reduce(m, kName.text, x, attrs));
}
template <OpName kName>
Result<Values> aten_spread_mean(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(AttrMap attrs, spread_attrs(m));
  QC_ASSIGN(Value * spread, reduce(m, kName.text, x, attrs));
  attrs.erase("correction");
  QC_ASSIGN(Value * mean, reduce(m, "reduce_mean", x, attrs));
  return Values{spread, mean};
}

Result<Values> aten_logsumexp(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(x, as_float(m, x));
  QC_ASSIGN(const AttrMap attrs, axes_of(m));
  return one(reduce(m, "reduce_log_sum_exp", x, attrs));
}

/// The vector norm of order p over the axes.
Result<Value*> vector_norm(const Import& m, Value* x, double p, const AttrMap& attrs) {
  if (p == 2) return reduce(m, "reduce_l2", x, attrs);
  if (p == 1) return reduce(m, "reduce_l1", x, attrs);
  QC_ASSIGN(x, m.emit("abs", {x}));
  if (std::isinf(p)) return reduce(m, p > 0 ? "reduce_max" : "reduce_min", x, attrs);
  if (p == 0) {
    QC_ASSIGN(Value * other, m.emit("ne", {x, m.scalar(0, x->dtype())}));
    QC_ASSIGN(other, m.cast(other, x->dtype()));
    return reduce(m, "reduce_sum", other, attrs);
  }
  QC_ASSIGN(x, m.emit("pow", {x, m.scalar(p, x->dtype())}));
  QC_ASSIGN(x, reduce(m, "reduce_sum", x, attrs));
  return m.emit("pow", {x, m.scalar(1 / p, x->dtype())});
}

/// The order is the argument `name`, a number or missing (2).
Result<Values> norm_of_order(const Import& m, std::string_view name) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(const DType type, m.dtype("dtype", x->dtype()));
  QC_ASSIGN(x, m.cast(x, type));
  QC_ASSIGN(x, as_float(m, x));
  QC_ASSIGN(const double p, m.f(name, 2));
  QC_ASSIGN(const AttrMap attrs, axes_of(m));
  const DType result = x->dtype();
  // Orders that one node computes round by themselves.
  if (p != 1 && p != 2) {
    QC_ASSIGN(x, m.cast(x, computed_in(result)));
  }
  QC_ASSIGN(Value * y, vector_norm(m, x, p, attrs));
  return one(m.cast(y, result));
}
Result<Values> aten_vector_norm(Import& m) { return norm_of_order(m, "ord"); }
Result<Values> aten_norm(Import& m) { return norm_of_order(m, "p"); }

/// linalg_norm: without an order the 2-norm of all elements; with one, that of vectors only.
Result<Values> aten_linalg_norm(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(const Ints axes, m.ints("dim", {}));
  const size_t reduced = axes.empty() ? static_cast<size_t>(x->rank()) : axes.size();
  if (m.given("ord") && reduced != 1) {
    return m.fail(Code::unsupported, "a matrix norm of a given order");
  }
  return norm_of_order(m, "ord");
}

/// The loss of elementwise errors: reduction 0 none, 1 mean, 2 sum.
Result<Values> reduced_loss(const Import& m, Value* errors) {
  QC_ASSIGN(const int64_t reduction, m.i("reduction", 1));
  if (reduction == 0) return Values{errors};
  return one(
      m.emit(reduction == 1 ? "reduce_mean" : "reduce_sum", {errors}, {{"keepdims", false}}));
}
template <OpName kName>
Result<Values> aten_error_loss(Import& m) {
  QC_ASSIGN(auto pair, m.promoted("self", "target"));
  QC_ASSIGN(Value * error, m.emit("sub", {pair.first, pair.second}));
  QC_ASSIGN(error, m.emit(kName.text, {error}));
  return reduced_loss(m, error);
}

constexpr ImportRow kAtenRows[] = {
    {"aten", "sum.default", aten_sum<"reduce_sum">},
    {"aten", "sum.dim_IntList", aten_sum<"reduce_sum">},
    {"aten", "prod.default", aten_sum<"reduce_prod">},
    {"aten", "prod.dim_int", aten_sum<"reduce_prod">},
    {"aten", "nansum.default", aten_nansum},
    {"aten", "nanmean.default", aten_nanmean},
    {"aten", "mean.default", aten_mean},
    {"aten", "mean.dim", aten_mean},
    {"aten", "amax.default", aten_extreme<true>},
    {"aten", "amin.default", aten_extreme<false>},
    {"aten", "max.default", aten_extreme<true>},
    {"aten", "min.default", aten_extreme<false>},
    {"aten", "max.dim", rank0_as_list<aten_extreme_dim<true>>},
    {"aten", "min.dim", rank0_as_list<aten_extreme_dim<false>>},
    {"aten", "aminmax.default", aten_aminmax},
    {"aten", "any.default", aten_truth<"reduce_any">},
    {"aten", "any.dim", aten_truth<"reduce_any">},
    {"aten", "any.dims", aten_truth<"reduce_any">},
    {"aten", "all.default", aten_truth<"reduce_all">},
    {"aten", "all.dim", aten_truth<"reduce_all">},
    {"aten", "all.dims", aten_truth<"reduce_all">},
    {"aten", "_is_all_true.default", aten_truth<"reduce_all">},
    {"aten", "_is_any_true.default", aten_truth<"reduce_any">},
    {"aten", "count_nonzero.default", aten_count_nonzero},
    {"aten", "count_nonzero.dim_IntList", aten_count_nonzero},
    {"aten", "var.default", aten_spread<"reduce_var">},
    {"aten", "var.dim", aten_spread<"reduce_var">},
    {"aten", "var.correction", aten_spread<"reduce_var">},
    {"aten", "std.default", aten_spread<"reduce_std">},
    {"aten", "std.dim", aten_spread<"reduce_std">},
    {"aten", "std.correction", aten_spread<"reduce_std">},
    {"aten", "var_mean.default", aten_spread_mean<"reduce_var">},
    {"aten", "var_mean.dim", aten_spread_mean<"reduce_var">},
    {"aten", "var_mean.correction", aten_spread_mean<"reduce_var">},
    {"aten", "std_mean.default", aten_spread_mean<"reduce_std">},
    {"aten", "std_mean.dim", aten_spread_mean<"reduce_std">},
    {"aten", "std_mean.correction", aten_spread_mean<"reduce_std">},
    {"aten", "logsumexp.default", aten_logsumexp},
    {"aten", "special_logsumexp.default", aten_logsumexp},
    {"aten", "linalg_vector_norm.default", aten_vector_norm},
    {"aten", "linalg_norm.default", aten_linalg_norm},
    {"aten", "norm.Scalar", aten_norm},
    {"aten", "norm.ScalarOpt_dim", aten_norm},
    {"aten", "norm.ScalarOpt_dtype", aten_norm},
    {"aten", "norm.ScalarOpt_dim_dtype", aten_norm},
    {"aten", "mse_loss.default", aten_error_loss<"square">},
    {"aten", "l1_loss.default", aten_error_loss<"abs">},
};

}  // namespace

std::span<const ImportRow> reduce_aten_rows() { return kAtenRows; }

}  // namespace qc
