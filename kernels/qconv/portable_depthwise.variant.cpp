// Depthwise qconv of channels-last codes (kernels/qconv/portable.c).
#include "kernels/qconv/nhwc.h"

namespace qc {
namespace {

std::string refusal(const Call& call, const Binder& binder) {
  std::string why = nhwc_refusal(call, binder);
  const auto p = c_params<qk_qconv_params>(call);
  if (why.empty() && !(p.groups == p.ic && p.groups == p.oc)) why = "groups have several channels";
  return why;
}

/// Weights [taps][channels].
Result<Call> bind(const Call& call, Binder& binder) {
  const auto p = c_params<qk_qconv_params>(call);
  const int64_t channels = p.oc, taps = int64_t{p.k[0]} * p.k[1] * p.k[2];
  const auto pack = [=](const std::vector<Tensor>& from) -> Result<Tensor> {
    Tensor out(DType::i8, {taps, channels});
    const int8_t* w = from[0].data<int8_t>();
    int8_t* y = out.mutable_data<int8_t>();
    for (int64_t i = 0; i < channels * taps; ++i) y[i % taps * channels + i / taps] = w[i];
    return out;
  };
  kernel::QconvDepthwise c(params_as<params::QconvParams>(call));
  c.w = binder.packed(call.operand("w"), {}, "qdepthwise", DType::i8, {taps, channels}, pack);
  return Binder::bound(call, c);
}

}  // namespace

void variants_qconv_portable_depthwise(std::vector<Variant>& out) {
  out.push_back({.kernel = "qconv",
                 .name = "portable_depthwise",
                 .cost = qconv_cost<Peak::i16, 40, 16, true>,
                 .refusal = refusal,
                 .bind = bind});
}

}  // namespace qc
