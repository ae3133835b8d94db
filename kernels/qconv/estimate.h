// Times of qconv, which its variants compare.
#pragma once

#include "kernels/qconv/calls.h"
#include "kernels/qtile/estimate.h"

namespace qc {

/// As a GEMM: positions, outputs of all groups, terms of an output.
inline GemmSize qconv_size(const Call& call) {
  const auto p = c_params<qk_qconv_params>(call);
  const int64_t taps = int64_t{p.k[0]} * p.k[1] * p.k[2];
  return {int64_t{p.n} * p.out[0] * p.out[1] * p.out[2], p.oc, taps * (p.ic / p.groups),
          call.operand("residual").present()};
}

/// Bodies at so many per cent of a peak that compute `lanes` channels at once: outputs of a group,
/// or groups of one channel.
template <Peak peak, int percent, int lanes, bool depthwise = false>
double qconv_cost(const Call& call, const Binder& binder) {
  const GemmSize size = qconv_size(call);
  const int64_t channels = depthwise ? size.outputs : size.outputs / call.integer("groups");
  const double gmacs =
      portable_gmacs(binder.target(), peak) * percent / 100 / padding(channels, lanes);
  return gemm_nanoseconds(call, binder, size, gmacs);
}

}  // namespace qc
