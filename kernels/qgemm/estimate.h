// Times of qgemm, which its variants compare.
#pragma once

#include "kernels/qgemm/calls.h"
#include "kernels/qtile/estimate.h"

namespace qc {

/// Rows of all matrices, and what each has.
inline GemmSize qgemm_size(const Call& call) {
  const auto p = c_params<qk_qgemm_call>(call);
  return {int64_t{p.batch} * p.m, p.n, p.k, call.operand("residual").present()};
}

/// Bodies with weights in panels of 16 outputs, at so many per cent of a peak.
template <Peak peak, int percent>
double qgemm_panels_cost(const Call& call, const Binder& binder) {
  const GemmSize size = qgemm_size(call);
  const double gmacs =
      portable_gmacs(binder.target(), peak) * percent / 100 / padding(size.outputs, 16);
  return gemm_nanoseconds(call, binder, size, gmacs);
}

}  // namespace qc
