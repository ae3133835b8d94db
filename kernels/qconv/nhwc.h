// What the portable variants of qconv share that read channels-last codes.
#pragma once

#include "kernels/qconv/estimate.h"
#include "kernels/qconv/narrow.h"

namespace qc {

inline std::string nhwc_refusal(const Call& call, const Binder&) {
  const auto p = c_params<qk_qconv_params>(call);
  if (!p.nhwc) return "operands are not channels-last";
  if (std::string why = wide_refusal(call); !why.empty()) return why;
  return call.proved("narrow_x") ? "" : "codes less their zero points take more than 16 bits";
}

}  // namespace qc
