// Depthwise qconv, four channels of four positions per thread (kernels/qconv/depthwise.cu).
#include <cstring>

#include "kernels/common/codes.h"
#include "kernels/qconv/estimate.h"
#include "kernels/qconv/narrow.h"
#include "kernels/qconv/qconv.h"

namespace qc {
namespace {

std::string refusal(const Call& call, const Binder& binder) {
  const auto p = params_as<params::QconvParams>(call);
  if (!(p.nhwc == 1)) return "operands are not channels-last";
  if (!(p.groups == p.oc && p.ic == p.oc)) return "it is not depthwise";
  const auto sizes = c_params<qk_qconv_params>(call);
  if (sizes.oc % 4 != 0) return "its channels are not a multiple of four";
  if (int64_t{sizes.k[0]} * sizes.k[1] * sizes.k[2] > 49) return "its window is large";
  if (sizes.x_type > QK_U8) return "codes of x have more than 8 bits";
  if (std::string why = wide_refusal(call); !why.empty()) return why;
  if (call.operand("w_zeros").present()) return "weights have zero points";
  return binder.not_constant(call, {"w"});
}

/// Four products an instruction, from loads that neighbours share.
double cost(const Call& call, const Binder& binder) {
  const Facts& facts = binder.target().facts;
  return thread_nanoseconds(qconv_size(call), facts, 0.25 * facts.i8_gmacs);
}

/// Weights [taps][channels], and the sum of each channel's.
Result<Call> bind(const Call& call, Binder& binder) {
  Call out = Binder::like(call, "qconv_depthwise_device", {"cuda"});
  const auto p = c_params<qk_qconv_params>(call);
  const int64_t taps = int64_t{p.k[0]} * p.k[1] * p.k[2], channels = p.oc;
  const int64_t weight_sums = (taps * channels + 15) / 16 * 16, bytes = weight_sums + 4 * channels;
  set_view(out, "w",
           binder.packed(call.operand("w"), {}, "depthwise.cuda", DType::i8, {bytes},
                         [=](const std::vector<Tensor>& t) -> Result<Tensor> {
                           Tensor packed(DType::i8, {bytes});
                           auto* to = packed.mutable_data<int8_t>();
                           const auto* from = reinterpret_cast<const int8_t*>(t[0].bytes().data());
                           for (int64_t c = 0; c < channels; ++c) {
                             int32_t sum = 0;
                             for (int64_t k = 0; k < taps; ++k) {
                               to[k * channels + c] = from[c * taps + k];
                               sum += from[c * taps + k];
                             }
                             std::memcpy(to + weight_sums + 4 * c, &sum, 4);
                           }
                           return packed;
                         }));
  return out;
}

}  // namespace

void variants_qconv_depthwise_cuda(std::vector<Variant>& out) {
  out.push_back({.kernel = "qconv",
                 .name = "depthwise_cuda",
                 .feature = "cuda",
                 .cost = cost,
                 .refusal = refusal,
                 .bind = bind});
}

}  // namespace qc
