// qconv by tiles of wgmma (kernels/qtile/wgmma.cu).
#include "kernels/qconv/tiles.h"

namespace qc {

void variants_qconv_wgmma(std::vector<Variant>& out) {
  constexpr MmaBody body = MmaBody::wide_tiles;
  out.push_back({.kernel = "qconv",
                 .name = "wgmma",
                 .feature = "wgmma",
                 .cost = qconv_tiles_cost<body>,
                 .refusal = qconv_tiles_refusal<body>,
                 .bind = bind_qconv_tiles<body>});
}

}  // namespace qc
