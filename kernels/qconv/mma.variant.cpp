// qconv by tiles of mma.sync (kernels/qtile/mma.cu).
#include "kernels/qconv/tiles.h"

namespace qc {

void variants_qconv_mma(std::vector<Variant>& out) {
  out.push_back({"qconv", "mma", "mma", 50, qconv_tiles_refusal, bind_qconv_tiles<MmaBody::tiles>});
}

}  // namespace qc
