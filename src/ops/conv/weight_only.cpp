#include "ops/conv/weight_only.h"

#include "interp/eval.h"
#include "kernels/numerics/quant.h"
#include "kernels/wconv/calls.h"
#include "ops/conv/operands.h"
#include "quant/groups.h"

namespace qc {

Tensor decoded_weights(const Tensor& codes, const Type& type) {
  Tensor out(DType::f32, codes.shape());
  float* y = out.mutable_data<float>();
  const Format& f = *type.format;
  Groups(type).for_each([&](int64_t i, int64_t g) {
    y[i] = qn_dequantize(static_cast<int32_t>(codes.as_int(i)), f.scale_at(g), f.zero_at(g));
  });
  return out;
}

Result<Ok> lower_weight_only(Lowering& l, const QConv& node) {
  const Type& w = l.in_type(1);
  const Format& f = *w.format;
  kernel::Wconv c;
  fill_sizes(c, node, l.in_type(0).shape, w.shape, l.out_type().shape);
  const int64_t oc = w.shape[0].value(), icg = w.shape[1].value();
  const bool groups = f.granularity == Granularity::group;
  const int64_t group = groups ? f.group : std::max<int64_t>(icg, 1);
  int64_t taps = 1;
  for (int64_t k : spatial(w.shape)) taps *= k;
  const bool by_tap = groups && taps > 1;
  const int64_t each = (icg + group - 1) / group * (by_tap ? taps : 1);
  c.group = static_cast<int32_t>(group);
  c.by_tap = by_tap ? 1 : 0;
  c.zero = f.zero_at(0);
  c.nhwc = l.in_type(0).layout == Layout::channels_last ? 1 : 0;
  c.w_zeros = weight_zeros(l, f, oc, each);
  c.scales = weight_scales(l, f, oc, each);
  c.w = l.in(1);
  c.x = l.in(0);
  c.bias = l.optional(2);
  c.y = l.out();
  l.emit(c, {.in_place = {}, .macs = node.macs()});
  return Ok{};
}

}  // namespace qc
