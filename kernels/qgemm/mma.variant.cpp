// qgemm on GPUs, as a convolution of one tap, a row for an image (kernels/qconv/mma.h).
#include "kernels/common/codes.h"
#include "kernels/qconv/mma_bind.h"
#include "kernels/qgemm/call.h"
#include "kernels/qgemm/calls.h"

namespace qc {
namespace {

std::string refusal(const Call& call, const Binder& binder) {
  const auto p = params_as<params::QgemmCall>(call);
  if (!(p.batch == 1)) return "there are several matrices";
  if (call.operand("y_zeros").present() && call.operand("residual").present())
    return "results have a zero point each, and a residual is added";
  return mma_refusal(call, binder, p.x_type);
}

std::string wide_refusal(const Call& call, const Binder& binder) {
  std::string why = refusal(call, binder);
  if (!why.empty()) return why;
  const auto p = c_params<qk_qgemm_call>(call);
  return wgmma_refusal(p.m, p.k, p.n, 1, call.operand("residual").present());
}

template <MmaBody body>
Result<Call> bound(const Call& call, Binder& binder) {
  Call out = mma_call(call, body);
  const auto p = c_params<qk_qgemm_call>(call);
  as_product(out, call.size("m"));
  set_integer(out, "ic", p.k);
  set_integer(out, "oc", p.n);
  pack_mma(out, call, binder, {1, p.w_n, 0, p.w_k, p.flip}, body);
  return out;
}

}  // namespace

void variants_qgemm_mma(std::vector<Variant>& out) {
  out.push_back({"qgemm", "wgmma", "wgmma", 40, wide_refusal, bound<MmaBody::wide_tiles>});
  out.push_back({"qgemm", "mma", "mma", 50, refusal, bound<MmaBody::tiles>});
  out.push_back({"qgemm", "dp4a", "cuda", 80, refusal, bound<MmaBody::threads>});
}

}  // namespace qc
