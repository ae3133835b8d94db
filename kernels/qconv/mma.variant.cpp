// qconv by tiles of mma.sync (kernels/qtile/mma.cu).
#include "kernels/qconv/tiles.h"

namespace qc {

void variants_qconv_mma(std::vector<Variant>& out) {
  constexpr MmaBody body = MmaBody::tiles;
  out.push_back({.kernel = "qconv",
                 .name = "mma",
                 .feature = "mma",
                 .cost = qconv_tiles_cost<body>,
                 .refusal = qconv_tiles_refusal<body>,
                 .bind = bind_qconv_tiles<body>});
}

}  // namespace qc
