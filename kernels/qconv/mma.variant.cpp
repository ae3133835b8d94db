// qconv on GPUs, by tiles on tensor cores or four outputs a thread (kernels/qconv/mma.h).
#include "kernels/common/codes.h"
#include "kernels/qconv/mma_bind.h"
#include "kernels/qconv/qconv.h"

namespace qc {
namespace {

std::string refusal(const Call& call, const Binder& binder) {
  const auto p = params_as<params::QconvParams>(call);
  if (!(p.nhwc == 1)) return "operands are not channels-last";
  if (!(p.groups == 1)) return "it has groups";
  if (call.select[1] != "i8" || call.select[2] != "i32") return "accumulators take 64 bits";
  const auto sizes = c_params<qk_qconv_params>(call);
  if (int64_t{sizes.in[0]} * sizes.in[1] * sizes.in[2] * sizes.ic > INT32_MAX)
    return "an image has more than 2^31 - 1 elements";
  return mma_refusal(call, binder, p.x_type);
}

std::string wide_refusal(const Call& call, const Binder& binder) {
  std::string why = refusal(call, binder);
  if (!why.empty()) return why;
  const auto p = c_params<qk_qconv_params>(call);
  return wgmma_refusal(int64_t{p.n} * p.out[0] * p.out[1] * p.out[2], p.ic, p.oc,
                       int64_t{p.k[0]} * p.k[1] * p.k[2], call.operand("residual").present());
}

template <MmaBody body>
Result<Call> bound(const Call& call, Binder& binder) {
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

}  // namespace

void variants_qconv_mma(std::vector<Variant>& out) {
  out.push_back({"qconv", "wgmma", "wgmma", 40, wide_refusal, bound<MmaBody::wide_tiles>});
  out.push_back({"qconv", "mma", "mma", 50, refusal, bound<MmaBody::tiles>});
  out.push_back({"qconv", "dp4a", "cuda", 80, refusal, bound<MmaBody::threads>});
}

}  // namespace qc
