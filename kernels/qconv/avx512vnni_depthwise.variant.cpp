// Depthwise qconv with vpdpbusd, 64 channels at once (kernels/qconv/avx512vnni_depthwise.c).
#include "kernels/qconv/bind.h"
#include "kernels/qconv/pack_depthwise.h"

namespace qc {
namespace {

std::string refusal(const Call& call, const Binder& binder) {
  const auto p = c_params<qk_qconv_params>(call);
  if (!p.nhwc) return "operands are not channels-last";
  if (std::string why = wide_refusal(call); !why.empty()) return why;
  if (p.groups != p.ic || p.groups != p.oc) return "groups have several channels";
  if (p.in[0] != 1 || p.k[0] != 1 || p.stride[0] != 1 || p.pad[0] != 0 || p.out[0] != 1)
    return "there are three axes";
  if (p.k[1] > 8) return "the kernel has more than 8 rows";
  if (std::string why = not_constant(call, binder); !why.empty()) return why;
  return packed_refusal(call, p, 0);
}

Result<Call> bind(const Call& call, Binder& binder) {
  const auto p = c_params<qk_qconv_params>(call);
  View blob = packed_blob(
      call, binder, fmt::format("depthwise.avx512vnni.{}x{}", p.k[1], p.k[2]),
      qk_depthwise_size(&p), [=](const std::vector<Tensor>& from, std::byte* to) {
        qk_pack_depthwise(&p, from[0].data<int8_t>(), elements_or_null<int32_t>(from[1]),
                          elements_or_null<float>(from[2]), elements_or_null<float>(from[3]), to);
      });
  return bound_conv<kernel::QconvDepthwisePacked>(call, "avx512vnni", std::move(blob));
}

}  // namespace

void variants_qconv_avx512vnni_depthwise(std::vector<Variant>& out) {
  out.push_back({.kernel = "qconv",
                 .name = "avx512vnni_depthwise",
                 .feature = "avx512vnni",
                 .cost = qconv_cost<Peak::i8, 40, 1>,
                 .refusal = refusal,
                 .bind = bind});
}

}  // namespace qc
