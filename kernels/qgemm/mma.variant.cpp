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

Result<Call> bound(const Call& call, Binder& binder, bool tiles) {
  Call out = tiles ? Binder::like(call, "qconv_blocks", {"mma"})
                   : Binder::like(call, "qconv_dp4a_device", {"cuda"});
  const auto p = c_params<qk_qgemm_call>(call);
  as_product(out, call.size("m"));
  set_integer(out, "ic", p.k);
  set_integer(out, "oc", p.n);
  pack_mma(out, call, binder, {1, p.w_n, 0, p.w_k, p.flip}, tiles);
  return out;
}

Result<Call> tiles(const Call& call, Binder& binder) { return bound(call, binder, true); }
Result<Call> threads(const Call& call, Binder& binder) { return bound(call, binder, false); }

}  // namespace

void variants_qgemm_mma(std::vector<Variant>& out) {
  out.push_back({"qgemm", "mma", "mma", 50, refusal, tiles});
  out.push_back({"qgemm", "dp4a", "cuda", 80, refusal, threads});
}

}  // namespace qc
