// qgemm by tiles of mma.sync (kernels/qtile/mma.cu).
#include "kernels/qgemm/tiles.h"

namespace qc {

void variants_qgemm_mma(std::vector<Variant>& out) {
  constexpr MmaBody body = MmaBody::tiles;
  out.push_back({.kernel = "qgemm",
                 .name = "mma",
                 .feature = "mma",
                 .cost = qgemm_tiles_cost<body>,
                 .refusal = qgemm_tiles_refusal<body>,
                 .bind = bind_qgemm_tiles<body>});
}

}  // namespace qc
