// qgemm with sdot (kernels/qgemm/neon_dotprod.c).
#include "kernels/qgemm/bind.h"

namespace qc {
namespace {

Result<Call> bind(const Call& call, Binder& binder) {
  return bind_packed_gemm(call, binder, QK_PANELS_NEON_DOTPROD, "neon_dotprod");
}

}  // namespace

void variants_qgemm_neon_dotprod(std::vector<Variant>& out) {
  out.push_back({"qgemm", "neon_dotprod", "neon_dotprod", 10, packed_gemm_refusal, bind});
}

}  // namespace qc
