// qgemm with vpdpbusd (kernels/qgemm/avx512vnni.c).
#include "kernels/qgemm/bind.h"

namespace qc {
namespace {

Result<Call> bind(const Call& call, Binder& binder) {
  return bind_packed_gemm(call, binder, QK_PANELS_AVX512VNNI, "avx512vnni");
}

}  // namespace

void variants_qgemm_avx512vnni(std::vector<Variant>& out) {
  out.push_back({"qgemm", "avx512vnni", "avx512vnni", 10, packed_gemm_refusal, bind});
}

}  // namespace qc
