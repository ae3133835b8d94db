// qgemm by tiles of wgmma (kernels/qtile/wgmma.cu).
#include "kernels/qgemm/tiles.h"

namespace qc {

void variants_qgemm_wgmma(std::vector<Variant>& out) {
  constexpr MmaBody body = MmaBody::wide_tiles;
  out.push_back({.kernel = "qgemm",
                 .name = "wgmma",
                 .feature = "wgmma",
                 .cost = qgemm_tiles_cost<body>,
                 .refusal = qgemm_tiles_refusal<body>,
                 .bind = bind_qgemm_tiles<body>});
}

}  // namespace qc
