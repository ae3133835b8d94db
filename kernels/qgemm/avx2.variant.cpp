// qgemm with pairs of 16 bits (kernels/qgemm/avx2.c).
#include "kernels/qgemm/bind.h"

namespace qc {
namespace {

Result<Call> bind(const Call& call, Binder& binder) {
  return bind_packed_gemm(call, binder, QK_PANELS_AVX2, "avx2");
}

}  // namespace

void variants_qgemm_avx2(std::vector<Variant>& out) {
  out.push_back({.kernel = "qgemm",
                 .name = "avx2",
                 .feature = "avx2",
                 .cost = qgemm_panels_cost<Peak::i16, 80>,
                 .refusal = packed_gemm_refusal,
                 .bind = bind});
}

}  // namespace qc
