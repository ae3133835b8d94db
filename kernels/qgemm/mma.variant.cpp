// qgemm by tiles of mma.sync (kernels/qtile/mma.cu).
#include "kernels/qgemm/tiles.h"

namespace qc {

void variants_qgemm_mma(std::vector<Variant>& out) {
  out.push_back(qgemm_tiles<MmaBody::tiles>("mma", "mma"));
}

}  // namespace qc
