// qgemm by four outputs a thread (kernels/qtile/dp4a.cu).
#include "kernels/qgemm/tiles.h"

namespace qc {

void variants_qgemm_dp4a(std::vector<Variant>& out) {
  constexpr MmaBody body = MmaBody::threads;
  out.push_back({.kernel = "qgemm",
                 .name = "dp4a",
                 .feature = "cuda",
                 .cost = qgemm_tiles_cost<body>,
                 .refusal = qgemm_tiles_refusal<body>,
                 .bind = bind_qgemm_tiles<body>});
}

}  // namespace qc
