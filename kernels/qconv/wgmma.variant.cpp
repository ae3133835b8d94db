// qconv by tiles of wgmma (kernels/qtile/wgmma.cu).
#include "kernels/qconv/tiles.h"

namespace qc {

void variants_qconv_wgmma(std::vector<Variant>& out) {
  out.push_back(qconv_tiles<MmaBody::wide_tiles>("wgmma", "wgmma"));
}

}  // namespace qc
