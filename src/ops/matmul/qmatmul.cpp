#include "ops/matmul/qmatmul.h"

#include "ops/matmul/accumulators.h"
#include "ops/matmul/fast.h"
#include "ops/matmul/matmul.h"
#include "ops/matmul/plain.h"
#include "ops/matmul/weight_only.h"

namespace qc {

const OpInfo QLinear::kInfo = {
    .name = "qlinear",
    .min_inputs = 2,
    .max_inputs = 5,
    .summary = "product of codes (or floats) with a matrix of codes per output, exact accumulators",
};
const OpInfo QMatMul::kInfo = {
    .name = "qmatmul",
    .min_inputs = 2,
    .max_inputs = 5,
    .summary = "matrix product of codes: exact accumulators, one rounding; batches broadcast",
};

Result<std::vector<Type>> QLinear::infer() const {
  const Type &x = input_type(0), &w = input_type(1);
  if (is_weight_only()) {
    QC_TRY(check_quantized({1}));
  } else {
    QC_TRY(check_quantized({0, 1}, true));
  }
  if (x.rank() < 1 || w.rank() != 2 || !w.shape[0].is_static() || !w.shape[1].is_static() ||
      differ(x.shape.back(), w.shape[1])) {
    return error(Code::shape, loc(), "linear of {} with weights {}", str(x.shape), str(w.shape));
  }
  if (!input(1)->is_constant()) return error(Code::unsupported, loc(), "weights are not constant");
  if (is_weight_only()) {
    QC_TRY(check_weight_only(*this, to, 0, input_type(1).shape[0]));
  } else {
    QC_TRY(check_accumulators(*this, to, parsed_arithmetic(), true, w.shape[0].value(), true));
    QC_TRY(check_weight_axis(*this, 0));
    if (to.format && to.format->granularity == Granularity::axis &&
        to.format->axis != x.rank() - 1) {
      return error(Code::quant, loc(), "scales of the result along axis {}, not along its last",
                   to.format->axis);
    }
  }
  Dims shape = x.shape;
  shape.back() = w.shape[0];
  return result(std::move(shape), Layout::row_major);
}

int64_t QLinear::macs() const { return product_macs(*this); }

AccumulatorProof QLinear::accumulator() const {
  if (is_weight_only()) return {};
  const Dims& w = input_type(1).shape;
  const int64_t k = w[1].value();
  return prove_accumulators(input_type(0), input(1), input(2), k, w[0].value(),
                            [k](int64_t i) { return i / k; });
}

namespace {
template <class Loops>
Result<Ok> eval_by(const QLinear& node, EvalContext& c) {
  const GemmShape p = linear_product(c.in(0).shape(), c.in(1).shape());
  if (node.is_weight_only()) {
    eval_weight_only<Loops>(c, p, node.input_type(1));
  } else {
    eval_accumulators<Loops>(c, node, p,
                             AccumulatorOutput(*node.in_q(0), *node.in_q(1), p.n, node.to,
                                               node.parsed_arithmetic(), node.lo, node.hi));
  }
  return Ok{};
}
}  // namespace

Result<Ok> QLinear::eval(EvalContext& c) const { return eval_by<PlainLoops>(*this, c); }
Result<Ok> QLinear::eval_fast(EvalContext& c) const { return eval_by<FastLoops>(*this, c); }

Result<Ok> QLinear::lower(Lowering& l) const {
  const GemmDims p = linear_product(l.in_type(0).shape, l.in_type(1).shape);
  if (is_weight_only()) return lower_weight_only(l, p, macs());
  return lower_accumulators(
      l, *this, p,
      AccumulatorOutput(*in_q(0), *in_q(1), p.n.value(), to, parsed_arithmetic(), lo, hi), macs());
}

void QMatMul::attrs(AttrVisitor& v) {
  v("transpose_b", transpose_b, false);
  QuantNodeBase::attrs(v);
}

Result<std::vector<Type>> QMatMul::infer() const {
  QC_TRY(check_quantized({0, 1}, true));
  if (input(2)) return error(Code::graph, loc(), "a bias of a matrix product");
  if (input_type(1).format->granularity != Granularity::tensor) {
    return error(Code::quant, loc(), "the second operand needs one scale, got {}",
                 str(input_type(1)));
  }
  QC_TRY(check_accumulators(*this, to, parsed_arithmetic(), false, 1));
  QC_ASSIGN(Dims shape,
            product_shape(input_type(0).shape, input_type(1).shape, transpose_b, loc()));
  return result(std::move(shape), Layout::row_major);
}

int64_t QMatMul::macs() const { return product_macs(*this); }

AccumulatorProof QMatMul::accumulator() const {
  const Dim& k = input_type(0).shape.back();
  const int64_t terms = k.bounds(output()->graph()->symbol_bounds()).max;
  if (terms == INT64_MAX) return {.terms = 0, .bound = INT64_MAX, .type = DType::i64};
  return prove_range(input_type(0), input_type(1), terms);
}

namespace {
AccumulatorOutput product_output(const QMatMul& n, int64_t columns) {
  return AccumulatorOutput(*n.in_q(0), *n.in_q(1), columns, n.to, n.parsed_arithmetic(), INT64_MIN,
                           INT64_MAX);
}

template <class Loops>
Result<Ok> eval_by(const QMatMul& node, EvalContext& c) {
  const GemmShape p =
      product_of(c.in(0).shape(), c.in(1).shape(), node.transpose_b, c.out(0).shape());
  eval_accumulators<Loops>(c, node, p, product_output(node, p.n));
  return Ok{};
}
}  // namespace

Result<Ok> QMatMul::eval(EvalContext& c) const { return eval_by<PlainLoops>(*this, c); }
Result<Ok> QMatMul::eval_fast(EvalContext& c) const { return eval_by<FastLoops>(*this, c); }

Result<Ok> QMatMul::lower(Lowering& l) const {
  QC_ASSIGN(const GemmDims p, matmul_product(l, transpose_b));
  return lower_accumulators(l, *this, p, product_output(*this, l.bounds(p.n).max), macs());
}

Value* swapped_codes(Graph& graph, Value* codes) {
  ConstantPool* pool = &graph.pool();
  const ConstId source = codes->constant();
  const Ints shape = pool->shape(source);
  auto format = std::make_shared<Format>(*codes->type().format);
  if (format->granularity != Granularity::tensor) format->axis = 1 - format->axis;
  if (format->granularity == Granularity::group) {
    const Ints groups{
        codes->type().format->axis == 0 ? (shape[0] + format->group - 1) / format->group : shape[0],
        codes->type().format->axis == 1 ? (shape[1] + format->group - 1) / format->group
                                        : shape[1]};
    for (Component* c : {&format->scale, &format->zero_point}) {
      if (c->kind != Component::Kind::fixed || c->values.size() == 1) continue;
      Tensor moved(c->values.dtype(), {groups[0] * groups[1]});
      for (int64_t i = 0; i < moved.size(); ++i) {
        const int64_t to = i % groups[1] * groups[0] + i / groups[1];
        if (is_float(moved.dtype())) {
          moved.set_double(to, c->values.as_double(i));
        } else {
          moved.set_int(to, c->values.as_int(i));
        }
      }
      c->values = std::move(moved);
    }
  }
  const ConstId id = pool->add_lazy(
      codes->dtype(), {shape[1], shape[0]}, pool->name(source), [=]() -> Result<Tensor> {
        QC_ASSIGN(const Tensor from, pool->get(source));
        Tensor to(from.dtype(), {shape[1], shape[0]});
        for (int64_t i = 0; i < from.size(); ++i) {
          to.set_int(i % shape[1] * shape[0] + i / shape[1], from.as_int(i));
        }
        return to;
      });
  return graph.constant(id, std::move(format));
}

Result<Value*> Linear::quantized(Quantizer& q) const {
  if (decodes_weights(q)) return weight_only_product(q, "qlinear", q.codes(1), {}, lo, hi);
  QC_ASSIGN(auto product, weighted_product(q, 0, input_type(1).shape[0], lo, hi));
  if (!product) return static_cast<Value*>(nullptr);
  return emit_product(q, "qlinear", std::move(*product), lo, hi);
}

Result<Value*> MatMul::quantized(Quantizer& q) const {
  Value *a = q.codes(0), *b = q.codes(1);
  if (!b) return q.refuse("its second operand is not quantized");
  if (b->is_constant() && b->rank() == 2) {
    const auto matrix = [&] { return transpose_b ? b : swapped_codes(q.graph(), b); };
    if (decodes_weights(q)) return weight_only_product(q, "qlinear", matrix(), {}, -kInf, kInf);
    const size_t columns = transpose_b ? 0 : 1;
    QC_ASSIGN(auto product,
              weighted_product(q, static_cast<int64_t>(columns), b->shape()[columns], -kInf, kInf));
    if (!product) return static_cast<Value*>(nullptr);
    product->inputs[1] = matrix();
    return emit_product(q, "qlinear", std::move(*product), -kInf, kInf);
  }
  if (!a) return q.refuse("its first operand is not quantized");
  if (q.format(1).is_dynamic() || q.format(1).granularity != Granularity::tensor) {
    return q.refuse("its second operand has more than one scale, or one known at run time only");
  }
  if (q.format(0).granularity != Granularity::tensor) {
    return q.refuse("its first operand has more than one scale");
  }
  QC_ASSIGN(auto product, quantized_product(q));
  if (!product) return static_cast<Value*>(nullptr);
  product->attrs["transpose_b"] = transpose_b;
  return emit_product(q, "qmatmul", std::move(*product), -kInf, kInf);
}

}  // namespace qc
