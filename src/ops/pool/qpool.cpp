#include "interp/eval.h"
#include "ir/op_table.h"
#include "kernels/qpool/calls.h"
#include "ops/common/codes.h"
#include "ops/pool/pool.h"
#include "program/lowering.h"

namespace qc {

const OpInfo QAveragePool::kInfo = {
    .name = "qavg_pool",
    .traits = kAnyLayout,
    .summary = "codes of the mean of the codes under each window",
};

void QAveragePool::attrs(AttrVisitor& v) {
  QuantNodeBase::attrs(v);
  window_attrs(v);
  mean_attrs(v);
}

Result<std::vector<Type>> QAveragePool::infer() const {
  const Type& x = input_type(0);
  QC_TRY(check_quantized({0}));
  QC_TRY(check_one_scale(x.quant(), loc()));
  QC_TRY(check_one_scale(to, loc()));
  QC_ASSIGN(Dims shape, pooled(x.shape, loc()));
  return result(std::move(shape), x.layout);
}

std::unique_ptr<Node> QAveragePool::with_border(const Border& border) const {
  std::optional<Ints> wider = pads_with(pads, border);
  const bool counted = include_pad || divisor > 0 || pads == Ints(pads.size(), 0);
  if (!border.zero || !wider || !counted || ceil) return nullptr;
  auto made = clone();
  auto& pool = static_cast<QAveragePool&>(*made);
  pool.pads = std::move(*wider);
  pool.include_pad = true;
  return made;
}

QAveragePool::Method QAveragePool::method() const {
  const Arithmetic::Combine combine = parsed_arithmetic().combine;
  if (combine == Arithmetic::Combine::f32) return Method::f32;
  // QLinearGlobalAveragePool is exact; no kernel of ONNX Runtime is adaptive otherwise.
  if (combine == Arithmetic::Combine::exact || !output_size.empty()) {
    return parsed_arithmetic().rescale == Arithmetic::Rescale::q31 ? Method::q31 : Method::exact;
  }
  const bool one_type = input_type(0).dtype == to.dtype && bits(to.dtype) == 8;
  return one_type ? Method::onnxruntime : Method::f32;
}

int64_t QAveragePool::divided_by() const {
  // ONNX Runtime's kernel of codes counts padding by the size of the window, even where this
  // reaches beyond the padded input.
  const bool whole = divisor == 0 && ceil && include_pad && method() == Method::onnxruntime;
  if (!whole) return divisor;
  int64_t taps = 1;
  for (const int64_t k : kernel) taps *= k;
  return taps;
}

AccumulatorProof QAveragePool::accumulator() const {
  AccumulatorProof proof;
  const Type &x = input_type(0), &y = output()->type();
  proof.terms = 1;
  for (size_t i = 0; i + 2 < x.shape.size(); ++i) {
    int64_t taps = kernel.empty() ? 0 : kernel[i];
    if (kernel.empty() && x.shape[2 + i].is_static()) {
      taps = x.shape[2 + i].value() / y.shape[2 + i].value() + 2;
    }
    proof.terms *= taps;
  }
  const int64_t zero = x.format->zero_at();
  const int64_t widest = std::max(x.format->qmax - zero, zero - x.format->qmin);
  if (__builtin_mul_overflow(proof.terms, widest, &proof.bound)) {
    proof.bound = std::numeric_limits<int64_t>::max();
  }
  proof.type = proof.terms > 0 && proof.bound <= INT32_MAX ? DType::i32 : DType::i64;
  return proof;
}

namespace {

/// How sums of codes become codes of means.
struct MeanTerms {
  int32_t zx = 0, zero = 0, lo = 0, hi = 0, lowest = 0;
  float sx = 0, sy = 0, divisor_y = 0;
  int32_t reciprocal = 0, mantissa = 0, shift = 0;
};
template <class Params>
void fill_terms(Params& p, const QAveragePool& pool) {
  const Type &x = pool.input_type(0), &y = pool.output()->type();
  p.zx = x.format->zero_at();
  p.zero = y.format->zero_at();
  const CodeLimits limits = code_limits(pool.to);
  p.lo = limits.lo;
  p.hi = limits.hi;
  p.lowest = static_cast<int32_t>(code_range(y.dtype).lo);
  p.sx = x.format->scale_at();
  p.sy = y.format->scale_at();
  const Encoding e = encoding(*y.format, pool.parsed_arithmetic());
  p.divisor_y = e.divisor;
  p.reciprocal = e.reciprocal;
  int32_t mantissa = 0, shift = 0;
  qn_q31_from_f32(p.sx / p.sy, &mantissa, &shift);
  p.mantissa = mantissa;
  p.shift = shift;
}

}  // namespace

Result<Ok> QAveragePool::eval(EvalContext& c) const {
  MeanTerms q;
  fill_terms(q, *this);
  const Method chosen = method();
  const int64_t fixed = divided_by();
  const PoolSizes p = sizes(input_type(0).shape, output()->shape());
  const int64_t volume = int64_t{p.in[0]} * p.in[1] * p.in[2];
  int64_t at = 0;
  for (int64_t row = 0; row < int64_t{p.n} * p.c; ++row) {
    for (int64_t od = 0; od < p.out[0]; ++od) {
      for (int64_t oh = 0; oh < p.out[1]; ++oh) {
        for (int64_t ow = 0; ow < p.out[2]; ++ow, ++at) {
          const Taps td = taps_of(p, 0, od), th = taps_of(p, 1, oh), tw = taps_of(p, 2, ow);
          int64_t sum = 0;
          float decoded = 0.0f;
          for (int64_t d : td.at) {
            for (int64_t h : th.at) {
              for (int64_t w : tw.at) {
                const int64_t i = row * volume + (d * p.in[1] + h) * p.in[2] + w;
                const int32_t code = static_cast<int32_t>(c.in(0).as_int(i));
                sum += code - q.zx;
                decoded += qn_dequantize(code, q.sx, q.zx);
              }
            }
          }
          int64_t count = static_cast<int64_t>(td.at.size() * th.at.size() * tw.at.size());
          if (include_pad) count = td.counted * th.counted * tw.counted;
          if (fixed) count = fixed;
          const int32_t n = static_cast<int32_t>(count);
          int32_t code = 0;
          switch (chosen) {
            case Method::exact:
              code = qn_mean_code(sum, n, q.sx, q.sy, q.zero, q.lo, q.hi);
              break;
            case Method::q31:
              code = qn_mean_q31(sum, std::max(n, 1), q.mantissa, q.shift, q.zero, q.lo, q.hi);
              break;
            case Method::onnxruntime:
              code = qn_mean_code_ort(decoded, n, q.sy, q.zero, q.lowest, q.lo, q.hi);
              break;
            case Method::f32:
              code = qn_encode(decoded / static_cast<float>(n), q.divisor_y, q.reciprocal, q.zero,
                               q.lo, q.hi);
              break;
          }
          c.out(0).set_int(at, code);
        }
      }
    }
  }
  return Ok{};
}

Result<Ok> QAveragePool::lower(Lowering& l) const {
  const bool wide = accumulator().type == DType::i64;
  const Method f = method();
  const Type &x = input_type(0), &y = output()->type();
  kernel::Qpool c;
  fill(c, x.shape, y.shape);
  c.divisor = static_cast<int32_t>(divided_by());
  fill_terms(c, *this);
  c.nhwc = x.layout == Layout::channels_last ? 1 : 0;
  c.type_x = code_type(x.dtype);
  c.type_y = code_type(y.dtype);
  c.arithmetic = f == Method::onnxruntime ? "ort"
                 : f == Method::f32       ? "f32"
                 : f == Method::q31       ? "q31"
                 : wide                   ? "wide"
                                          : "exact";
  c.x = l.in(0);
  c.y = l.out();
  l.emit(c);
  return Ok{};
}

Result<Value*> Pool::quantized(Quantizer& q) const {
  if (kind == PoolKind::max) return q.refuse("a window of padding alone has no largest code");
  if (kind != PoolKind::average) return q.refuse("only average pools have an integer form");
  if (!q.codes(0) || !has_one_scale(q.codes(0)->type().quant())) {
    return q.refuse("the operand is not codes with one static scale");
  }
  if (!q.result() || !has_one_scale(*q.result())) {
    return q.refuse("the result is not quantized to one static scale");
  }
  AttrMap attrs;
  for (auto& [name, value] : get_attrs(*this, false)) attrs[name] = value;
  attrs["to"] = *q.result();
  attrs["arithmetic"] = str(q.arithmetic());
  return q.emit(QAveragePool::kInfo.name, {q.codes(0)}, std::move(attrs));
}

}  // namespace qc
