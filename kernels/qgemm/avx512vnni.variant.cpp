// qgemm with vpdpbusd (kernels/qgemm/avx512vnni.c).
#include "kernels/qgemm/bind.h"

namespace qc {
namespace {

Result<Call> bind(const Call& call, Binder& binder) {
  return bind_packed_gemm(call, binder, QK_PANELS_AVX512VNNI, "avx512vnni");
}

}  // namespace

void variants_qgemm_avx512vnni(std::vector<Variant>& out) {
  out.push_back({.kernel = "qgemm",
                 .name = "avx512vnni",
                 .feature = "avx512vnni",
                 .cost = qgemm_panels_cost<Peak::i8, 90>,
                 .refusal = packed_gemm_refusal,
                 .bind = bind});
}

}  // namespace qc
