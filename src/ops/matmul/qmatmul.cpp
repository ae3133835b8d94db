#include "ops/matmul/qmatmul.h"

#include "ops/matmul/sums.h"

namespace qc {

const OpInfo QLinear::kInfo = {
    .name = "qlinear",
    .min_inputs = 2,
    .max_inputs = 5,
    .summary = "product of codes with a matrix of codes per output: exact sums, one rounding",
};

Result<std::vector<Type>> QLinear::infer() const {
  const Type &x = input_type(0), &w = input_type(1);
  QC_TRY(check_quantized({0, 1}));
  if (x.rank() < 1 || w.rank() != 2 || !w.shape[0].is_static() || !w.shape[1].is_static() ||
      differ(x.shape.back(), w.shape[1])) {
    return error(Code::shape, loc(), "linear of {} with weights {}", str(x.shape), str(w.shape));
  }
  QC_TRY(check_sums(*this, to, record(), true, w.shape[0].value()));
  QC_TRY(check_weight_axis(*this, 0));
  if (!input(1)->is_constant()) return error(Code::unsupported, loc(), "weights are not constant");
  Dims shape = x.shape;
  shape.back() = w.shape[0];
  return result(std::move(shape), Layout::row_major);
}

int64_t QLinear::macs() const {
  if (!all_static(output()->shape()) || !all_static(input_type(0).shape)) return 0;
  return product(output()->shape()).value() * input_type(0).shape.back().value();
}

AccumulatorProof QLinear::accumulator() const {
  const Dims& w = input_type(1).shape;
  const int64_t k = w[1].value();
  return prove_sums(input_type(0), input(1), input(2), k, w[0].value(),
                    [k](int64_t i) { return i / k; });
}

Result<Ok> QLinear::eval(EvalContext& c) const {
  const Product p = linear_product(c.in(0).shape(), c.in(1).shape());
  eval_sums(c, *this, p, SumOutput(*in_q(0), *in_q(1), p.n, to, record(), lo, hi));
  return Ok{};
}

Result<Ok> QLinear::lower(Lowering& l) const {
  const Product p =
      linear_product(static_dims(l.in_type(0).shape), static_dims(l.in_type(1).shape));
  return lower_sums(l, *this, p, SumOutput(*in_q(0), *in_q(1), p.n, to, record(), lo, hi), macs());
}

}  // namespace qc
