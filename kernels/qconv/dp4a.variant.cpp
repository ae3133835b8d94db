// qconv by four outputs a thread (kernels/qtile/dp4a.cu).
#include "kernels/qconv/tiles.h"

namespace qc {

void variants_qconv_dp4a(std::vector<Variant>& out) {
  out.push_back(
      {"qconv", "dp4a", "cuda", 80, qconv_tiles_refusal, bind_qconv_tiles<MmaBody::threads>});
}

}  // namespace qc
