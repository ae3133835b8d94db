#include "ops/quantize/epilogue.h"

#include "kernels/numerics/quant.h"

namespace qc {
namespace {

bool is_reciprocal(const QuantizeEpilogue& e) {
  return parse_arithmetic(e.arithmetic).value().quantize == Arithmetic::Quantize::reciprocal;
}

void eval_known(const QuantizeEpilogue& e, const Tensor& y, Tensor& out, const Type& codes) {
  const bool reciprocal = is_reciprocal(e);
  const Format& f = *e.to.format;
  const std::vector<float> scales = divisors(f, reciprocal);
  const std::vector<int32_t> zeros = zero_points(f);
  const int32_t lo = static_cast<int32_t>(f.qmin), hi = static_cast<int32_t>(f.qmax);
  const float* x = y.data<float>();
  Groups(codes).for_each([&](int64_t i, int64_t g) {
    const size_t at = static_cast<size_t>(g);
    const int32_t zero = zeros.empty() ? 0 : zeros[zeros.size() == 1 ? 0 : at];
    const float s = scales[at];
    out.set_int(i, reciprocal ? qn_quantize_reciprocal(x[i], s, zero, lo, hi)
                              : qn_quantize(x[i], s, zero, lo, hi));
  });
}

void eval_dynamic(const QuantizeEpilogue& e, const Tensor& y, EvalContext& c, const Type& codes) {
  const float* x = y.data<float>();
  float* scales = c.out(1).mutable_data<float>();
  int32_t* zeros = c.out(2).mutable_data<int32_t>();
  const Format& f = *codes.format;
  const int32_t lo = static_cast<int32_t>(f.qmin), hi = static_cast<int32_t>(f.qmax);
  const int64_t n = e.per_token ? y.shape().back() : y.size();
  for (int64_t r = 0; r < c.out(1).size() && n > 0; ++r) {
    qn_dynamic_range(x + r * n, static_cast<int32_t>(n), lo, hi, e.symmetric ? 1 : 0, &scales[r],
                     &zeros[r]);
    for (int64_t i = r * n; i < (r + 1) * n; ++i) {
      c.out(0).set_int(i, qn_quantize(x[i], scales[r], zeros[r], lo, hi));
    }
  }
}

}  // namespace

void eval_epilogue(const QuantizeEpilogue& epilogue, const Tensor& y, EvalContext& c,
                   const Type& codes) {
  if (epilogue.dynamic) {
    eval_dynamic(epilogue, y, c, codes);
  } else {
    eval_known(epilogue, y, c.out(0), codes);
  }
  if (epilogue.floats) c.set_out(epilogue.floats_at(), y);
}

Result<params::QuantizeOut> quantize_out(const Lowering& l, const QuantizeEpilogue& epilogue) {
  const Type& y = l.out_type();
  QC_TRY(l.param(product(y.shape)));
  params::QuantizeOut p;
  p.lo = static_cast<int32_t>(y.format->qmin);
  p.hi = static_cast<int32_t>(y.format->qmax);
  p.size = bits(y.dtype) > 8 ? 2 : 1;
  p.keep = epilogue.floats ? 1 : 0;
  if (epilogue.dynamic) {
    p.mode = epilogue.per_token ? QK_PER_TOKEN : QK_PER_TENSOR;
    p.symmetric = epilogue.symmetric ? 1 : 0;
    p.span = epilogue.per_token ? y.shape.back() : product(y.shape);
    return p;
  }
  QC_ASSIGN(const GroupLoops loops, group_loops(l, y));
  const bool one = y.format->granularity == Granularity::tensor;
  p.mode = QK_STATIC;
  p.reciprocal = is_reciprocal(epilogue) ? 1 : 0;
  p.axis = one ? Dim(1) : loops.axis;
  p.inner = one ? Dim(1) : loops.inner;
  p.group = loops.group;
  p.s_outer = loops.s_outer;
  p.s_axis = loops.s_axis;
  p.s_inner = loops.s_inner;
  return p;
}

View epilogue_scales(Lowering& l, const QuantizeEpilogue& epilogue) {
  if (epilogue.dynamic) return View{};
  return float_constant(l, divisors(*epilogue.to.format, is_reciprocal(epilogue)));
}

View epilogue_zeros(Lowering& l, const QuantizeEpilogue& epilogue) {
  return epilogue.dynamic ? View{} : zero_constant(l, l.out_type());
}

}  // namespace qc
