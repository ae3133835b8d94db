#include "interp/eval.h"
#include "kernels/qreduce/calls.h"
#include "ops/common/broadcast.h"
#include "ops/common/codes.h"
#include "ops/common/strided.h"
#include "ops/reduce/reduce.h"

namespace qc {

const OpInfo QReduce::kSum = {
    .name = "qsum",
    .traits = kAnyLayout,
    .summary = "codes of the sum of codes over the given axes",
};
const OpInfo QReduce::kMean = {
    .name = "qmean",
    .traits = kAnyLayout,
    .summary = "codes of the mean of codes over the given axes",
};

void QReduce::attrs(AttrVisitor& v) {
  QuantNodeBase::attrs(v);
  v("axes", axes, Ints{});
  v("keepdims", keepdims, true);
  if (mean_) v("count", count, Dim(0));
}

Result<std::vector<Type>> QReduce::infer() const {
  const Type& x = input_type(0);
  QC_TRY(check_quantized({0}));
  QC_TRY(check_one_scale(x.quant(), loc()));
  QC_TRY(check_one_scale(to, loc()));
  QC_ASSIGN(Dims remaining, shape(x, loc()));
  return result(std::move(remaining), keepdims ? x.layout : Layout::row_major);
}

AccumulatorProof QReduce::accumulator() const {
  AccumulatorProof proof;
  proof.type = DType::i64;
  const Type& x = input_type(0);
  const auto gone = reduced(x.rank(), loc());
  Dim terms = 1;
  for (size_t i = 0; gone.ok() && i < gone->size(); ++i) {
    if ((*gone)[i]) terms = terms * x.shape[i];
  }
  if (!gone.ok() || !terms.is_static() || product(output()->shape()) == Dim(0)) return proof;
  proof.terms = terms.value();
  const int64_t zero = x.format->zero_at();
  if (__builtin_mul_overflow(proof.terms, std::max(x.format->qmax - zero, zero - x.format->qmin),
                             &proof.bound)) {
    proof.bound = std::numeric_limits<int64_t>::max();
  }
  return proof;
}

Dim QReduce::counted() const {
  if (!(count == Dim(0))) return count;
  const Type& x = input_type(0);
  const auto gone = reduced(x.rank(), loc());
  Dim terms = 1;
  for (size_t i = 0; gone.ok() && i < gone->size(); ++i) {
    if ((*gone)[i]) terms = terms * x.shape[i];
  }
  return terms;
}

float QReduce::multiplier() const {
  const float sx = input_type(0).format->scale_at(), sy = to.format->scale_at();
  return mean_ ? sx / qn_mulf(sy, static_cast<float>(counted().value())) : sx / sy;
}

QReduce::Exactly QReduce::multiplier_q31() const {
  Exactly out;
  qn_q31_from_f32(input_type(0).format->scale_at() / to.format->scale_at(), &out.mantissa,
                  &out.shift);
  const Dim n = counted();
  if (mean_ && n.is_static()) out.divisor = static_cast<int32_t>(n.value());
  return out;
}

Result<Ok> QReduce::eval(EvalContext& c) const {
  const Tensor& x = c.in(0);
  QC_ASSIGN(const std::vector<bool> gone, reduced(x.rank(), loc()));
  const Ints strides = strides_of(x.shape());
  BroadcastPlan outer{{1}, {{0}}}, inner{{1}, {{0}}};
  for (size_t i = 0; i < gone.size(); ++i) {
    BroadcastPlan& plan = gone[i] ? inner : outer;
    plan.dims.push_back(x.shape()[i]);
    plan.strides[0].push_back(strides[i]);
  }
  const int32_t zx = input_type(0).format->zero_at(), zero = to.format->zero_at();
  const CodeLimits limits = code_limits(to);
  const bool q31 = parsed_arithmetic().rescale == Arithmetic::Rescale::q31;
  const float m = multiplier();
  const Exactly e = multiplier_q31();
  for_each_offset(outer, [&](int64_t o, const int64_t* row) {
    int64_t sum = 0;
    for_each_offset(inner, [&](int64_t, const int64_t* at) { sum += x.as_int(*row + *at) - zx; });
    c.out(0).set_int(
        o, q31 ? qn_mean_q31(sum, e.divisor, e.mantissa, e.shift, zero, limits.lo, limits.hi)
               : qn_rescale_wide(sum, m, zero, limits.lo, limits.hi));
  });
  return Ok{};
}

Result<Ok> QReduce::lower(Lowering& l) const {
  const Type &x = l.in_type(0), &y = l.out_type();
  QC_ASSIGN(const std::vector<bool> gone, reduced(x.rank(), loc()));
  ReducePlan plan = plan_reduce(x, y, gone, keepdims);
  const Dim terms = counted();
  const CodeLimits limits = code_limits(to);
  kernel::Qreduce p;
  QC_TRY(plan.outer.fill(l, p.outer_rank, p.outer_dims, p.outer_strides));
  QC_TRY(plan.inner.fill(l, p.inner_rank, p.inner_dims, p.inner_strides));
  p.type_x = code_type(x.dtype);
  p.type_y = code_type(y.dtype);
  p.zx = x.format->zero_at();
  p.zero = to.format->zero_at();
  p.lo = limits.lo;
  p.hi = limits.hi;
  const bool q31 = parsed_arithmetic().rescale == Arithmetic::Rescale::q31;
  const bool counted = mean_ && !terms.is_static();  // when it runs
  p.multiplier = counted ? x.format->scale_at() : multiplier();
  if (counted) p.scale_y = to.format->scale_at();
  const Exactly e = multiplier_q31();
  p.mantissa = e.mantissa;
  p.shift = e.shift;
  p.divisor = counted ? terms : Dim(e.divisor);
  p.arithmetic = q31 ? "q31" : counted ? "mean" : "exact";
  p.x = l.in(0);
  p.y = l.out();
  l.emit(p);
  return Ok{};
}

Result<Value*> Reduce::quantized(Quantizer& q) const {
  const bool mean = op_->kind == ReduceKind::mean;
  if (!mean && op_->kind != ReduceKind::sum) {
    return q.refuse("there is no integer form of " + std::string(op()));
  }
  if (!q.codes(0) || !has_one_scale(q.codes(0)->type().quant())) {
    return q.refuse("the operand is not codes with one static scale");
  }
  if (!q.result() || !has_one_scale(*q.result())) {
    return q.refuse("the result is not quantized to one static scale");
  }
  return q.emit(mean ? "qmean" : "qsum", {q.codes(0)},
                {{"to", *q.result()},
                 {"arithmetic", str(q.arithmetic())},
                 {"axes", axes},
                 {"keepdims", keepdims}});
}

}  // namespace qc
