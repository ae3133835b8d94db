#include "ops/attention/qattention.h"

#include "ops/attention/attention.h"
#include "ops/common/codes.h"
#include "ops/common/strided.h"
#include "ops/common/weighted.h"

namespace qc {

const OpInfo QAttention::kInfo = {
    .name = "qattention",
    .min_inputs = 3,
    .max_inputs = 10,
    .summary =
        "attention on codes: integer scores, weights as codes, integer accumulators of values",
};
const OpInfo QAttentionQuantize::kStatic = {
    .name = "qattention_quantize",
    .min_inputs = 3,
    .max_inputs = 10,
    .summary = "qattention, whose floats become codes",
};
const OpInfo QAttentionQuantize::kDynamic = {
    .name = "qattention_quantize_dynamic",
    .min_inputs = 3,
    .max_inputs = 10,
    .outputs = 3,
    .summary = "qattention, whose floats become codes with scales found at run time",
};

Result<std::vector<Type>> QAttention::infer() const {
  QC_TRY(check_quantized({kQ, kK, kV}));
  QC_ASSIGN(Dims shape, check_codes(*this));
  if (to.format && (to.format->granularity != Granularity::tensor || to.format->is_dynamic())) {
    return error(Code::quant, loc(), "a result of {}", str(to));
  }
  return result(std::move(shape), Layout::row_major);
}

Result<Ok> QAttention::eval(EvalContext& c) const {
  compute(*this, c, to, c.out(0));
  return Ok{};
}

Result<Ok> QAttention::lower(Lowering& l) const {
  if (count(l.out_dims()) == 0) return Ok{};
  QC_ASSIGN(kernel::Qattention p, call(*this, l));
  if (to.format) {
    const CodeLimits limits = code_limits(to);
    p.y_type = code_type(to.dtype);
    p.y_zero = to.format->zero_at();
    p.y_scale = to.format->scale_at();
    p.lo = limits.lo;
    p.hi = limits.hi;
  }
  p.y = l.out();
  l.emit(p, {.in_place = {}, .macs = macs()});
  return Ok{};
}

Result<Node*> QAttention::with_epilogue(const QuantizeEpilogue& epilogue, const InsertPoint& point,
                                        std::string& reason) {
  if (epilogue.floats) {
    reason = kReadAsFloats;
    return static_cast<Node*>(nullptr);
  }
  auto fused = std::make_unique<QAttentionQuantize>(epilogue.dynamic);
  static_cast<AttentionScores&>(*fused) = *this;
  fused->epilogue = epilogue;
  return point.graph.add(std::move(fused), inputs(), point.loc, point.before);
}

Result<std::vector<Type>> QAttentionQuantize::infer() const {
  QC_ASSIGN(Dims shape, check_codes(*this));
  if (epilogue.floats) return error(Code::attribute, loc(), "{} keeps no floats", op());
  return epilogue.types(Type(DType::f32, std::move(shape)), loc());
}

Result<Ok> QAttentionQuantize::eval(EvalContext& c) const {
  Tensor y(DType::f32, c.out(0).shape());
  compute(*this, c, QType{}, y);
  eval_epilogue(epilogue, y, c, output()->type());
  return Ok{};
}

Result<Ok> QAttentionQuantize::lower(Lowering& l) const {
  const Dims shape = l.out_dims();
  if (count(shape) == 0) return Ok{};
  QC_ASSIGN(kernel::Qattention p, call(*this, l));
  const Dim n = shape.back(), batch = product(Dims(shape.begin() + 1, shape.end() - 1));
  QC_TRY(lower_epilogue(l, epilogue, p));
  // All rows of a batch are there when its last head is.
  p.quantize_row = n;
  p.quantize.batch = batch;
  l.emit(p, {.in_place = {}, .macs = macs()});
  return Ok{};
}

bool Attention::take(const QScheme& scheme) {
  if (scheme.kind == QScheme::Kind::weight_only) return false;
  on_codes = scheme.attention_on_codes;
  return on_codes || scheme.kind == QScheme::Kind::fixed;
}

Result<Value*> Attention::quantized(Quantizer& q) const {
  if (!on_codes) return q.refuse("no rule asks for attention on codes");
  std::vector<Value*> inputs{nullptr, nullptr, nullptr, input(kMask)};
  for (size_t i : {kQ, kK, kV}) {
    inputs[i] = q.codes(i);
    if (!inputs[i]) return q.refuse("not all of queries, keys and values are quantized");
    const Format& f = q.format(i);
    if (bits(inputs[i]->dtype()) != 8 || inputs[i]->shape() != input(i)->shape())
      return q.refuse("its products are of codes of 8 bits");
    if (f.granularity != Granularity::tensor && !has_row_scales(inputs[i]->type()))
      return q.refuse("an operand has more than one scale, and not one for each row");
    inputs.push_back(q.scale(i));
    inputs.push_back(q.zero_point(i));
  }
  if (q.result() && !has_one_scale(*q.result())) return q.refuse("its result has several scales");
  const AccumulatorProof proof = attention_accumulators(
      inputs[kQ]->type(), inputs[kK]->type(), inputs[kV]->type(), q.graph().symbol_bounds());
  if (proof.type != DType::i32) {
    return q.refuse("accumulators of as many products as there may be keys do not fit 32 bits");
  }
  while (!inputs.back()) inputs.pop_back();
  AttrMap attrs = written();
  attrs["to"] = q.result().value_or(QType{});
  attrs["arithmetic"] = str(q.arithmetic());
  return q.emit("qattention", std::move(inputs), std::move(attrs));
}

}  // namespace qc
