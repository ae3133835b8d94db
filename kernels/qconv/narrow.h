// Which calls of qconv take bodies for narrow codes and accumulators.
#pragma once

#include "kernels/qconv/selectors.h"

namespace qc {

/// Why bodies for weights i8 and accumulators of 32 bits do not take a call; empty where they do.
inline std::string wide_refusal(const Call& call) {
  const selectors::Qconv select(call);
  return select.w_codes == "i8" && select.accumulator == "i32" ? "" : "accumulators take 64 bits";
}

}  // namespace qc
