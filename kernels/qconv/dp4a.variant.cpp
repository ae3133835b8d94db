// qconv by four outputs a thread (kernels/qtile/dp4a.cu).
#include "kernels/qconv/tiles.h"

namespace qc {

void variants_qconv_dp4a(std::vector<Variant>& out) {
  out.push_back(qconv_tiles<MmaBody::threads>("dp4a", "cuda"));
}

}  // namespace qc
