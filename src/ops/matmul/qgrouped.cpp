// Groups of rows of codes, each times a matrix of codes of its own: the experts of a mixture.
#include "kernels/qgemm/calls.h"
#include "ops/common/codes.h"
#include "ops/common/weighted.h"
#include "ops/matmul/fast.h"
#include "ops/matmul/matmul.h"
#include "ops/matmul/plain.h"
#include "ops/matmul/qmatmul.h"

namespace qc {

const OpInfo QGroupedMatMul::kInfo = {
    .name = "qgrouped_matmul",
    .min_inputs = 3,
    .max_inputs = 5,
    .summary = "consecutive groups of rows of codes, each times its own matrix of codes",
};

namespace {

enum Operands : size_t { kX, kW, kOffsets, kScale, kZero };

bool has_scale_per_row(const Type& x) { return x.format->granularity != Granularity::tensor; }

/// Why weights have no integer form; empty where they have.
std::string wrong_weights(const Type& w) {
  const Format& f = *w.format;
  bool symmetric = !f.is_dynamic() && f.zero_point.kind != Component::Kind::dynamic;
  for (int64_t i = 0; symmetric && i < f.scale.values.size(); ++i)
    symmetric = f.zero_point.kind == Component::Kind::none || f.zero_at(i) == 0;
  if (w.dtype != DType::i8 || !symmetric) return "its weights are not symmetric codes i8";
  if (f.granularity == Granularity::tensor || (f.granularity == Granularity::axis && f.axis == 2))
    return {};
  return "its weights have neither one scale nor one for each output";
}

/// What the sum of output n is multiplied with, the scale of x aside where it is one of run time.
std::vector<float> multipliers(const Format& x, const Format& w, int64_t outputs, const QType& to) {
  std::vector<float> out;
  for (int64_t n = 0; n < outputs; ++n) {
    const float s = w.scale_at(w.granularity == Granularity::tensor ? 0 : n);
    out.push_back(x.is_dynamic() ? s : qn_mulf(x.scale_at(), s));
    if (to.format) out.back() /= to.format->scale_at();
  }
  return out;
}

}  // namespace

Result<std::vector<Type>> QGroupedMatMul::infer() const {
  QC_TRY(check_quantized({kX, kW}));
  const Type &x = input_type(kX), &w = input_type(kW), &offsets = input_type(kOffsets);
  if (x.rank() != 2 || w.rank() != 3 || offsets.rank() != 1 || differ(x.shape[1], w.shape[1]) ||
      differ(w.shape[0], offsets.shape[0])) {
    return error(Code::shape, loc(), "grouped product of {} and {} with offsets {}", str(x.shape),
                 str(w.shape), str(offsets.shape));
  }
  if (offsets.dtype != DType::i32 && offsets.dtype != DType::i64)
    return error(Code::type, loc(), "{} offsets", name(offsets.dtype));
  if (!input(kW)->is_constant()) return error(Code::unsupported, loc(), "weights are not constant");
  if (const std::string wrong = wrong_weights(w); !wrong.empty())
    return error(Code::quant, loc(), "{}", wrong);
  const bool dynamic = x.format->is_dynamic();
  const bool rows = has_scale_per_row(x),
             one_per_row = x.format->granularity == Granularity::group && x.format->axis == 1 &&
                           !differ(Dim(x.format->group), x.shape[1]);
  if (bits(x.dtype) != 8 || (rows && !(dynamic && one_per_row)))
    return error(Code::quant, loc(), "rows of {}", str(x));
  const Dim count = rows ? x.shape[0] : Dim(1);
  const bool has_scale = input(kScale) && product(input_type(kScale).shape) == count;
  if (dynamic != (input(kScale) != nullptr) || (dynamic && (!has_scale || to.format)))
    return error(Code::graph, loc(), "scales of x, or a result with a scale beside them");
  if (to.format && !has_one_scale(to)) return error(Code::quant, loc(), "a result of {}", str(to));
  return result({x.shape[0], w.shape[2]}, Layout::row_major);
}

int64_t QGroupedMatMul::macs() const { return product_macs(*this); }

AccumulatorProof QGroupedMatMul::accumulator() const {
  return prove_range(input_type(kX), input_type(kW), input_type(kW).shape[1].value());
}

namespace {

template <class Loops>
Result<Ok> eval_by(const QGroupedMatMul& node, EvalContext& c) {
  const Tensor &x = c.in(kX), &w = c.in(kW), &offsets = c.in(kOffsets);
  const Type& type = node.input_type(kX);
  GemmShape p;
  p.k = w.shape()[1];
  p.n = w.shape()[2];
  const bool rows = has_scale_per_row(type), dynamic = type.format->is_dynamic();
  const std::vector<float> by = multipliers(*type.format, *node.in_q(1), p.n, node.to);
  std::vector<int32_t> xs(static_cast<size_t>(x.size())), ws(static_cast<size_t>(w.size()));
  for (int64_t i = 0; i < x.size(); ++i) {
    const int32_t zero = !dynamic       ? type.format->zero_at()
                         : c.has(kZero) ? c.in(kZero).data<int32_t>()[rows ? i / p.k : 0]
                                        : 0;
    xs[static_cast<size_t>(i)] = static_cast<int32_t>(x.as_int(i)) - zero;
  }
  for (int64_t i = 0; i < w.size(); ++i)
    ws[static_cast<size_t>(i)] = static_cast<int32_t>(w.as_int(i));
  const auto put = [&](int64_t row, int64_t n, int64_t sum) {
    float m = by[static_cast<size_t>(n)];
    if (dynamic) m = qn_mulf(c.in(kScale).data<float>()[rows ? row : 0], m);
    const float y = qn_mulf(static_cast<float>(sum), m);
    if (!node.to.format) {
      c.out(0).mutable_data<float>()[row * p.n + n] = y;
      return;
    }
    const CodeLimits limits = code_limits(node.to);
    c.out(0).set_int(row * p.n + n, qn_code(y, node.to.format->zero_at(), limits.lo, limits.hi));
  };
  int64_t start = 0;
  for (int64_t e = 0; e < offsets.size(); ++e) {
    const int64_t end = std::max(start, std::min(offsets.as_int(e), x.shape()[0]));
    p.m = end - start;
    Loops::accumulate(p, xs.data() + start * p.k, ws.data() + e * p.k * p.n,
                      [&](int64_t m, int64_t n, int64_t sum) { put(start + m, n, sum); });
    start = end;
  }
  for (; start < x.shape()[0]; ++start) {
    for (int64_t n = 0; n < p.n; ++n) {
      if (node.to.format) c.out(0).set_int(start * p.n + n, node.to.format->zero_at());
    }
  }
  return Ok{};
}

}  // namespace

Result<Ok> QGroupedMatMul::eval(EvalContext& c) const { return eval_by<PlainLoops>(*this, c); }
Result<Ok> QGroupedMatMul::eval_fast(EvalContext& c) const { return eval_by<FastLoops>(*this, c); }

Result<Ok> QGroupedMatMul::lower(Lowering& l) const {
  const Type& x = l.in_type(kX);
  const Dims& w = l.in_type(kW).shape;
  for (const Dim& size :
       {x.shape[0] * x.shape[1], w[0] * w[1] * (w[2] + Dim(16)), x.shape[0] * w[2]})
    QC_TRY(l.param(size));
  if (accumulator().type != DType::i32)
    return error(Code::limit, loc(), "accumulators of {} products do not fit 32 bits", w[1].str());
  kernel::Qgrouped c;
  c.rows = x.shape[0];
  c.groups = w[0];
  c.n = w[2];
  c.k = w[1];
  c.per_row = has_scale_per_row(x) ? 1 : 0;
  c.x_type = code_type(x.dtype);
  c.x_zero = x.format->is_dynamic() ? 0 : x.format->zero_at();
  c.result.type = to.format ? code_type(to.dtype) : QK_F32;
  if (to.format) {
    const CodeLimits limits = code_limits(to);
    c.result.zero = to.format->zero_at();
    c.result.lo = limits.lo;
    c.result.hi = limits.hi;
  }
  const std::vector<float> by = multipliers(*x.format, *l.in_type(kW).format, w[2].value(), to);
  c.index = name(l.in_type(kOffsets).dtype);
  c.x = l.in(kX);
  c.w = l.in(kW);
  c.offsets = l.in(kOffsets);
  c.multipliers = l.constant(Tensor::of<float>(DType::f32, {static_cast<int64_t>(by.size())}, by),
                             "multipliers");
  c.x_scales = l.optional(kScale);
  c.x_zeros = l.optional(kZero);
  c.y = l.out();
  l.emit(c, {.in_place = {}, .macs = macs()});
  return Ok{};
}

Result<Value*> GroupedMatMul::quantized(Quantizer& q) const {
  Value *x = q.codes(kX), *w = q.codes(kW);
  if (!x || !w || !w->is_constant()) return q.refuse("its rows and its weights are not both codes");
  if (bits(x->dtype()) != 8) return q.refuse("its rows are not codes of 8 bits");
  if (std::string wrong = wrong_weights(w->type()); !wrong.empty()) return q.refuse(wrong);
  if (q.arithmetic().rescale == Arithmetic::Rescale::q31)
    return q.refuse("its accumulators are rescaled with floats");
  if (q.result() && (!has_one_scale(*q.result()) || q.format(kX).is_dynamic()))
    return q.refuse("its result has another scale than one that is known");
  std::vector<Value*> inputs{x, w, input(kOffsets), q.scale(kX), q.zero_point(kX)};
  while (!inputs.back()) inputs.pop_back();
  return q.emit("qgrouped_matmul", std::move(inputs),
                {{"to", q.result().value_or(QType{})}, {"arithmetic", str(q.arithmetic())}});
}

}  // namespace qc
