// What the portable variants of qconv share that read channels-last codes.
#pragma once

#include "kernels/qconv/calls.h"
#include "program/variant.h"

namespace qc {

inline std::string nhwc_refusal(const Call& call, const Binder&) {
  const auto p = c_params<qk_qconv_params>(call);
  if (!p.nhwc) return "operands are not channels-last";
  if (call.select[1] != "i8" || call.select[2] != "i32") return "accumulators take 64 bits";
  return call.proved("narrow_x") ? "" : "codes less their zero points take more than 16 bits";
}

}  // namespace qc
