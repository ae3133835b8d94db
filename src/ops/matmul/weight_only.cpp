#include "ops/matmul/weight_only.h"

#include "interp/eval.h"
#include "kernels/numerics/quant.h"
#include "kernels/qgemm/calls.h"
#include "ops/matmul/fast.h"
#include "ops/matmul/plain.h"
#include "quant/groups.h"

namespace qc {

template <class Loops>
void eval_weight_only(EvalContext& c, const GemmShape& p, const Type& weights) {
  std::vector<float> decoded(static_cast<size_t>(c.in(1).size()));
  const Format& f = *weights.format;
  Groups(weights).for_each([&](int64_t i, int64_t g) {
    decoded[static_cast<size_t>(i)] =
        qn_dequantize(static_cast<int32_t>(c.in(1).as_int(i)), f.scale_at(g), f.zero_at(g));
  });
  Loops::template matrix<Native<float>, float>(c.dot(), p, c.in(0).data<float>(), decoded.data(),
                                               c.has(2) ? &c.in(2) : nullptr, -QN_INF_F32,
                                               QN_INF_F32, c.out(0), 0);
}
template void eval_weight_only<PlainLoops>(EvalContext&, const GemmShape&, const Type&);
template void eval_weight_only<FastLoops>(EvalContext&, const GemmShape&, const Type&);

Result<Ok> lower_weight_only(Lowering& l, const GemmDims& p, int64_t macs) {
  QC_TRY(check_sizes(l, p));
  const Format& f = *l.in_type(1).format;
  const int64_t k = p.k.value(), n = p.n.value();
  const int64_t group = f.granularity == Granularity::group ? f.group : std::max<int64_t>(k, 1);
  const int64_t groups = (k + group - 1) / group;
  kernel::Wgemm c;
  c.m = p.m;
  c.n = p.n;
  c.k = p.k;
  c.group = group;
  c.zero = f.zero_at(0);
  c.w_zeros = weight_zeros(l, f, n, groups);
  c.w = l.in(1);
  c.x = l.in(0);
  c.scales = weight_scales(l, f, n, groups);
  c.bias = l.optional(2);
  c.y = l.out();
  l.emit(c, {.in_place = {}, .macs = macs});
  return Ok{};
}

}  // namespace qc
