// qconv by tiles of wgmma (kernels/qtile/wgmma.cu).
#include "kernels/qconv/tiles.h"

namespace qc {
namespace {

std::string refusal(const Call& call, const Binder& binder) {
  std::string why = qconv_tiles_refusal(call, binder);
  if (!why.empty()) return why;
  const auto p = c_params<qk_qconv_params>(call);
  return wgmma_refusal(int64_t{p.n} * p.out[0] * p.out[1] * p.out[2], p.ic, p.oc,
                       int64_t{p.k[0]} * p.k[1] * p.k[2], call.operand("residual").present());
}

}  // namespace

void variants_qconv_wgmma(std::vector<Variant>& out) {
  out.push_back({"qconv", "wgmma", "wgmma", 40, refusal, bind_qconv_tiles<MmaBody::wide_tiles>});
}

}  // namespace qc
