// qgemm by four outputs a thread (kernels/qtile/dp4a.cu).
#include "kernels/qgemm/tiles.h"

namespace qc {

void variants_qgemm_dp4a(std::vector<Variant>& out) {
  out.push_back(qgemm_tiles<MmaBody::threads>("dp4a", "cuda"));
}

}  // namespace qc
