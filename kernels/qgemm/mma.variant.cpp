// qgemm on tensor cores, as a convolution of one tap, a row for an image (kernels/qconv/mma.cu).
#include "kernels/common/codes.h"
#include "kernels/qconv/mma_bind.h"
#include "kernels/qgemm/call.h"
#include "kernels/qgemm/calls.h"

namespace qc {
namespace {

std::string refusal(const Call& call, const Binder& binder) {
  const auto p = params_as<params::QgemmCall>(call);
  if (!(p.batch == 1)) return "there are several matrices";
  return mma_refusal(call, binder, p.x_type);
}

Result<Call> bind(const Call& call, Binder& binder) {
  Call out = Binder::like(call, "qconv_blocks", {"mma"});
  const auto p = c_params<qk_qgemm_call>(call);
  as_product(out, p.m);
  set_integer(out, "ic", p.k);
  set_integer(out, "oc", p.n);
  pack_mma(out, call, binder, {p.n, 1, p.k, p.w_n, 0, p.w_k, p.flip != 0}, p.m);
  return out;
}

}  // namespace

void variants_qgemm_mma(std::vector<Variant>& out) {
  out.push_back({"qgemm", "mma", "mma", 50, refusal, bind});
}

}  // namespace qc
