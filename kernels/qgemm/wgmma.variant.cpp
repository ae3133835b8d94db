// qgemm by tiles of wgmma (kernels/qtile/wgmma.cu).
#include "kernels/qgemm/tiles.h"

namespace qc {
namespace {

std::string refusal(const Call& call, const Binder& binder) {
  std::string why = qgemm_tiles_refusal(call, binder);
  if (!why.empty()) return why;
  const auto p = c_params<qk_qgemm_call>(call);
  return wgmma_refusal(p.m, p.k, p.n, 1, call.operand("residual").present());
}

}  // namespace

void variants_qgemm_wgmma(std::vector<Variant>& out) {
  out.push_back({"qgemm", "wgmma", "wgmma", 40, refusal, bind_qgemm_tiles<MmaBody::wide_tiles>});
}

}  // namespace qc
