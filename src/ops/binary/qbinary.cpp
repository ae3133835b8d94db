#include "ops/binary/qbinary.h"

#include "interp/eval.h"
#include "kernels/qbinary/calls.h"
#include "ops/binary/binary.h"
#include "ops/common/broadcast.h"
#include "ops/common/registration.h"
#include "ops/common/strided.h"
#include "program/lowering.h"

namespace qc {
namespace {

#define QC_QBINARY(kind, what)                                       \
  {                                                                  \
    QBinaryKind::kind, {                                             \
      .name = "q" #kind, .min_inputs = 2, .max_inputs = 2,           \
      .traits = kElementwise | kBroadcasts | kAnyLayout,             \
      .summary = what " of two operands of codes, with broadcasting" \
    }                                                                \
  }
const QBinaryOp kQBinaryOps[] = {
    QC_QBINARY(add, "sum"),
    QC_QBINARY(sub, "difference"),
    QC_QBINARY(mul, "product"),
};
#undef QC_QBINARY

/// Whether ONNX Runtime takes operand 1 as the first: where operand 0 is the one that repeats along
/// the innermost axis with more than one element (the last common axis where none has).
bool ort_swaps(const Dims& a, const Dims& b) {
  if (a.empty()) return true;
  if (b.empty()) return a.back() == Dim(1);
  const size_t common = std::min(a.size(), b.size());
  for (size_t i = 1; i <= common; ++i) {
    const bool one_a = a[a.size() - i] == Dim(1), one_b = b[b.size() - i] == Dim(1);
    if (one_a && one_b && i < common) continue;
    return one_a;
  }
  return false;
}

/// ONNX Runtime has kernels for operands and results of one type of 8 bits only, without a clamp
/// that limits codes; elsewhere it decodes, computes and encodes.
bool ort_has_kernel(QBinaryKind kind, const Type& a, const Type& b, const QType& to, int64_t lo,
                    int64_t hi) {
  const bool limited = lo > to.format->qmin || hi < to.format->qmax;
  return kind != QBinaryKind::sub && a.dtype == b.dtype && a.dtype == to.dtype &&
         bits(to.dtype) == 8 && !limited;
}

}  // namespace

int32_t CodeFormula::operator()(int32_t a, int32_t b) const {
  if (swapped) std::swap(a, b);
  switch (way) {
    case Way::exact:
      return product ? qn_mul_codes(a, b, za, zb, ra, zero, lo, hi)
                     : qn_add_codes(a, b, za, zb, ra, rb, zero, lo, hi);
    case Way::ort:
      return product ? qn_mul_codes_ort(a, b, za, zb, ra, zero, lowest, lo, hi)
                     : qn_add_codes_ort(a, b, ra, rb, shift, lowest, lo, hi);
    case Way::q31:
      return product ? qn_rescale_q31(int64_t{a - za} * (b - zb), ma, mshift, zero, lo, hi)
                     : qn_add_codes_q31(a, b, za, zb, ma, mb, mshift, zero, lo, hi);
    case Way::f32:
      break;
  }
  const float x = qn_dequantize(a, ra, za), y = qn_dequantize(b, rb, zb);
  return qn_encode(product ? qn_mulf(x, y) : x + y, divisor, reciprocal, zero, lo, hi);
}

CodeFormula code_formula(QBinaryKind kind, const Type& a, const Type& b, const QType& to,
                         const Arithmetic& arithmetic, int64_t lo, int64_t hi) {
  using Combine = Arithmetic::Combine;
  Combine combine = arithmetic.combine;
  if (combine == Combine::onnxruntime && !ort_has_kernel(kind, a, b, to, lo, hi)) {
    combine = Combine::f32;
  }
  CodeFormula f;
  f.swapped = combine == Combine::onnxruntime && ort_swaps(a.shape, b.shape);
  const Type &first = f.swapped ? b : a, &second = f.swapped ? a : b;
  f.type_a = code_type(first.dtype);
  f.type_b = code_type(second.dtype);
  f.type_y = code_type(to.dtype);
  f.za = first.format->zero_at();
  f.zb = second.format->zero_at();
  f.zero = to.format->zero_at();
  const CodeLimits limits = code_limits(to, lo, hi);
  f.lo = limits.lo;
  f.hi = limits.hi;
  f.lowest = static_cast<int32_t>(code_range(to.dtype).lo);
  const float sa = first.format->scale_at(), sb = second.format->scale_at();
  const float sy = to.format->scale_at(), sign = kind == QBinaryKind::sub ? -1.0f : 1.0f;
  const bool product = kind == QBinaryKind::mul;
  f.product = product;
  if (combine == Combine::f32) {
    f.way = CodeFormula::Way::f32;
    const Encoding e = encoding(*to.format, arithmetic);
    f.ra = sa;
    f.rb = sign * sb;
    f.divisor = e.divisor;
    f.reciprocal = e.reciprocal;
    return f;
  }
  const bool ort = combine == Combine::onnxruntime;
  const bool q31 = !ort && arithmetic.rescale == Arithmetic::Rescale::q31;
  f.way = ort ? CodeFormula::Way::ort : q31 ? CodeFormula::Way::q31 : CodeFormula::Way::exact;
  if (product) {
    f.ra = qn_mulf(sa, sb) / sy;
    if (q31) qn_q31_from_f32(f.ra, &f.ma, &f.mshift);
    return f;
  }
  f.ra = sa / sy;
  f.rb = sign * (sb / sy);
  if (q31) qn_q31_pair(f.ra, f.rb, &f.ma, &f.mb, &f.mshift);
  if (ort) f.shift = qn_add_codes_shift(f.za, f.zb, f.ra, f.rb, f.zero);
  return f;
}

std::span<const QBinaryOp> qbinary_ops() { return kQBinaryOps; }

Result<std::vector<Type>> QBinary::infer() const {
  QC_TRY(check_quantized({0, 1}));
  for (const QType& type : {input_type(0).quant(), input_type(1).quant(), to}) {
    QC_TRY(check_one_scale(type, loc()));
  }
  if (lo > hi) return error(Code::attribute, loc(), "lower limit {} is above {}", lo, hi);
  const Type* const operands[] = {&input_type(0), &input_type(1)};
  QC_ASSIGN(Type y, broadcast_type(to.dtype, operands, loc()));
  return result(y.shape, y.layout);
}

Result<Ok> QBinary::eval(EvalContext& c) const {
  const CodeFormula f = formula();
  const Type* const operands[] = {&input_type(0), &input_type(1)};
  const BroadcastPlan plan = plan_broadcast(output()->type(), operands);
  for_each_offset(plan, [&](int64_t i, const int64_t* at) {
    const int64_t a = c.in(0).as_int(at[0]), b = c.in(1).as_int(at[1]);
    c.out(0).set_int(i, f(static_cast<int32_t>(a), static_cast<int32_t>(b)));
  });
  return Ok{};
}

Result<Ok> QBinary::lower(Lowering& l) const {
  const CodeFormula f = formula();
  const size_t a = f.swapped ? 1 : 0, b = 1 - a;
  const Type* const operands[] = {&l.in_type(a), &l.in_type(b)};
  const bool apart[] = {strided_alias(input(a)).has_value(), strided_alias(input(b)).has_value()};
  std::vector<Dims> lie;
  if (apart[0] || apart[1]) {
    // What is not placed may have another layout.
    for (size_t i = 0; i < 2; ++i) {
      lie.push_back(apart[i] ? strides_in(*this, i == 0 ? a : b) : strides_of(*operands[i]));
    }
  }
  QC_ASSIGN(const BroadcastPlan plan, plan_broadcast(l, operands, lie));
  kernel::Qbinary c;
  f.fill(c);
  Dim* const strides[] = {c.a, c.b};
  QC_TRY(fill_loops(l, plan, c.rank, c.dims, strides));
  CallInfo info;
  for (int i = 0; i < 2; ++i) {
    const bool same_width = bits(operands[i]->dtype) == bits(to.dtype);
    if (same_width && !apart[i] && plan.is_flat(static_cast<size_t>(i))) {
      info.in_place.push_back({i, 0});
    }
  }
  c.op = f.product ? "mul" : "add";
  static constexpr const char* kArithmetics[] = {"exact", "ort", "f32", "q31"};
  c.arithmetic = kArithmetics[static_cast<int>(f.way)];
  c.lhs = l.in(a);
  c.rhs = l.in(b);
  c.y = l.out();
  l.emit(c, info);
  return Ok{};
}

Result<Ok> QBinary::store_unsigned(Graph& graph, bool operand, bool results) {
  if (results) {
    lo = unsigned_limit(lo);
    hi = unsigned_limit(hi);
  }
  return QuantNodeBase::store_unsigned(graph, operand, results);
}

Result<Value*> Binary::quantized(Quantizer& q) const {
  const QBinaryOp* quantizable = nullptr;
  for (const QBinaryOp& candidate : qbinary_ops()) {
    if (candidate.info.name.substr(1) == op()) quantizable = &candidate;
  }
  if (!quantizable) return q.refuse("there is no integer form of " + std::string(op()));
  for (size_t i = 0; i < 2; ++i) {
    if (!q.codes(i) || !has_one_scale(q.codes(i)->type().quant())) {
      return q.refuse("an operand is not codes with one static scale");
    }
  }
  if (!q.result() || !has_one_scale(*q.result())) {
    return q.refuse("the result is not quantized to one static scale");
  }
  AttrMap attrs{{"to", *q.result()}, {"arithmetic", str(q.arithmetic())}};
  if (lo != -kInf) attrs["lo"] = limit_code(lo, *q.result(), q.arithmetic());
  if (hi != kInf) attrs["hi"] = limit_code(hi, *q.result(), q.arithmetic());
  return q.emit(quantizable->info.name, {q.codes(0), q.codes(1)}, std::move(attrs));
}

}  // namespace qc
