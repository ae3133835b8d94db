// qconv by tiles of mma.sync (kernels/qtile/mma.cu).
#include "kernels/qconv/tiles.h"

namespace qc {

void variants_qconv_mma(std::vector<Variant>& out) {
  out.push_back(qconv_tiles<MmaBody::tiles>("mma", "mma"));
}

}  // namespace qc
