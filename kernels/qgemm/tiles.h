// qgemm on GPUs, as a convolution of one tap, a row for an image: what its variants share that are
// made of kernels/qtile.
#pragma once

#include "kernels/qgemm/estimate.h"
#include "kernels/qtile/mma_bind.h"

namespace qc {

template <MmaBody body>
std::string qgemm_tiles_refusal(const Call& call, const Binder& binder) {
  const auto p = params_as<params::QgemmCall>(call);
  if (!(p.batch == 1)) return "there are several matrices";
  if (call.operand("y_zeros").present() && call.operand("residual").present())
    return "results have a zero point each, and a residual is added";
  return mma_refusal(call, binder, body, p.x_type, c_params<qk_qgemm_call>(call).k);
}

template <MmaBody body>
double qgemm_tiles_cost(const Call& call, const Binder& binder) {
  return mma_nanoseconds(qgemm_size(call), binder.target().facts, body, false);
}

template <MmaBody body>
Result<Call> bind_qgemm_tiles(const Call& call, Binder& binder) {
  Call out = mma_call(call, body);
  const auto p = c_params<qk_qgemm_call>(call);
  as_product(out, call.size("m"));
  set_integer(out, "ic", p.k);
  set_integer(out, "oc", p.n);
  pack_mma(out, call, binder, {1, p.w_n, 0, p.w_k, p.flip}, body);
  return out;
}

}  // namespace qc
