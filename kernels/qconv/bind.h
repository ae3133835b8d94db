// qconv with weights packed for a machine.
#pragma once

#include "kernels/qconv/estimate.h"
#include "kernels/qconv/narrow.h"
#include "kernels/qconv/pack.h"
#include "kernels/qtile/packed_bind.h"

namespace qc {

inline std::string packed_conv_refusal(const Call& call, const Binder& binder) {
  const auto p = c_params<qk_qconv_params>(call);
  if (!p.nhwc) return "operands are not channels-last";
  if (std::string why = wide_refusal(call); !why.empty()) return why;
  if (p.groups > 1 && p.oc / p.groups < 8) return "groups have few channels";
  if (std::string why = not_constant(call, binder); !why.empty()) return why;
  return packed_refusal(call, p, 0);
}

/// The bound call of a kernel whose weights are a blob.
template <class KernelCall>
Result<Call> bound_conv(const Call& call, const std::string& machine, View blob) {
  KernelCall c(params_as<params::QconvParams>(call));
  c.machine = machine;
  c.w = std::move(blob);
  return Binder::bound(call, c);
}

inline Result<Call> bind_packed_conv(const Call& call, Binder& binder, qk_panels panels_of,
                                     const std::string& machine) {
  const auto p = c_params<qk_qconv_params>(call);
  const qk_pack_params pack = qk_qconv_packing(&p);
  View blob = packed_blob(
      call, binder, packing_name(machine, pack), qk_packed_size(panels_of, &pack),
      [=](const std::vector<Tensor>& from, std::byte* to) {
        qk_pack(panels_of, &pack, from[0].bytes().data(), elements_or_null<int32_t>(from[1]),
                elements_or_null<float>(from[2]), elements_or_null<float>(from[3]), to);
      });
  return bound_conv<kernel::QconvPacked>(call, machine, std::move(blob));
}

}  // namespace qc
