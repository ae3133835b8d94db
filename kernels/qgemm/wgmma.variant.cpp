// qgemm by tiles of wgmma (kernels/qtile/wgmma.cu).
#include "kernels/qgemm/tiles.h"

namespace qc {

void variants_qgemm_wgmma(std::vector<Variant>& out) {
  out.push_back(qgemm_tiles<MmaBody::wide_tiles>("wgmma", "wgmma"));
}

}  // namespace qc
