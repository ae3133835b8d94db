// qconv with pairs of 16 bits (kernels/qconv/avx2.c).
#include "kernels/qconv/bind.h"

namespace qc {
namespace {

Result<Call> bind(const Call& call, Binder& binder) {
  return bind_packed_conv(call, binder, QK_PANELS_AVX2, "avx2");
}

}  // namespace

void variants_qconv_avx2(std::vector<Variant>& out) {
  out.push_back({.kernel = "qconv",
                 .name = "avx2",
                 .feature = "avx2",
                 .cost = qconv_cost<Peak::i16, 80, 16>,
                 .refusal = packed_conv_refusal,
                 .bind = bind});
}

}  // namespace qc
