// qconv with vpdpbusd (kernels/qconv/avx512vnni.c).
#include "kernels/qconv/bind.h"

namespace qc {
namespace {

Result<Call> bind(const Call& call, Binder& binder) {
  return bind_packed_conv(call, binder, QK_PANELS_AVX512VNNI, "avx512vnni");
}

}  // namespace

void variants_qconv_avx512vnni(std::vector<Variant>& out) {
  out.push_back({.kernel = "qconv",
                 .name = "avx512vnni",
                 .feature = "avx512vnni",
                 .cost = qconv_cost<Peak::i8, 90, 16>,
                 .refusal = packed_conv_refusal,
                 .bind = bind});
}

}  // namespace qc
