// qgemm by four outputs a thread (kernels/qtile/dp4a.cu).
#include "kernels/qgemm/tiles.h"

namespace qc {

void variants_qgemm_dp4a(std::vector<Variant>& out) {
  out.push_back(
      {"qgemm", "dp4a", "cuda", 80, qgemm_tiles_refusal, bind_qgemm_tiles<MmaBody::threads>});
}

}  // namespace qc
