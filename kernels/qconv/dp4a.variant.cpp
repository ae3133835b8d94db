// qconv by four outputs a thread (kernels/qtile/dp4a.cu).
#include "kernels/qconv/tiles.h"

namespace qc {

void variants_qconv_dp4a(std::vector<Variant>& out) {
  constexpr MmaBody body = MmaBody::threads;
  out.push_back({.kernel = "qconv",
                 .name = "dp4a",
                 .feature = "cuda",
                 .cost = qconv_tiles_cost<body>,
                 .refusal = qconv_tiles_refusal<body>,
                 .bind = bind_qconv_tiles<body>});
}

}  // namespace qc
