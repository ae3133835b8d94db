// qconv on GPUs: what its variants share that are made of kernels/qtile.
#pragma once

#include "kernels/qconv/estimate.h"
#include "kernels/qconv/narrow.h"
#include "kernels/qconv/qconv.h"
#include "kernels/qtile/mma_bind.h"

namespace qc {

template <MmaBody body>
std::string qconv_tiles_refusal(const Call& call, const Binder& binder) {
  const auto p = params_as<params::QconvParams>(call);
  if (!(p.nhwc == 1)) return "operands are not channels-last";
  if (!(p.groups == 1)) return "it has groups";
  if (std::string why = wide_refusal(call); !why.empty()) return why;
  const auto sizes = c_params<qk_qconv_params>(call);
  if (int64_t{sizes.in[0]} * sizes.in[1] * sizes.in[2] * sizes.ic > INT32_MAX)
    return "an image has more than 2^31 - 1 elements";
  return mma_refusal(call, binder, body, p.x_type, sizes.ic);
}

template <MmaBody body>
double qconv_tiles_cost(const Call& call, const Binder& binder) {
  const bool lines = in_lines(c_params<qk_qconv_params>(call));
  return mma_nanoseconds(qconv_size(call), binder.target().facts, body, lines);
}

template <MmaBody body>
Result<Call> bind_qconv_tiles(const Call& call, Binder& binder) {
  Call out = mma_call(call, body);
  const auto p = c_params<qk_qconv_params>(call);
  const int64_t taps = int64_t{p.k[0]} * p.k[1] * p.k[2];
  // Where windows are single positions one after another, threads need not find out which.
  bool product = taps == 1;
  Dim positions = call.size("n");
  for (int i = 0; i < 3; ++i) {
    product &= call.size("in", i) == call.size("out", i) && p.stride[i] == 1 && p.pad[i] == 0;
    positions = positions * call.size("out", i);
  }
  if (product) as_product(out, positions);
  pack_mma(out, call, binder, {taps, p.ic * taps, 1, taps, 0}, body);
  return out;
}

}  // namespace qc
