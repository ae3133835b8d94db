// qconv with vpdpbusd (kernels/qconv/avx512vnni.c).
#include "kernels/qconv/bind.h"

namespace qc {
namespace {

Result<Call> bind(const Call& call, Binder& binder) {
  return bind_packed_conv(call, binder, QK_PANELS_AVX512VNNI, "avx512vnni");
}

}  // namespace

void variants_qconv_avx512vnni(std::vector<Variant>& out) {
  out.push_back({"qconv", "avx512vnni", "avx512vnni", 10, packed_conv_refusal, bind});
}

}  // namespace qc
