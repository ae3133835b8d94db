// qgemm with sdot (kernels/qgemm/neon_dotprod.c).
#include "kernels/qgemm/bind.h"

namespace qc {
namespace {

Result<Call> bind(const Call& call, Binder& binder) {
  return bind_packed_gemm(call, binder, QK_PANELS_NEON_DOTPROD, "neon_dotprod");
}

}  // namespace

void variants_qgemm_neon_dotprod(std::vector<Variant>& out) {
  out.push_back({.kernel = "qgemm",
                 .name = "neon_dotprod",
                 .feature = "neon_dotprod",
                 .cost = qgemm_panels_cost<Peak::i8, 80>,
                 .refusal = packed_gemm_refusal,
                 .bind = bind});
}

}  // namespace qc
