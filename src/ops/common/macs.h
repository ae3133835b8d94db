// Counting the work of a node.
#pragma once

#include <limits>

#include "ir/dim.h"
#include "support/checked.h"

namespace qc {

/// The product of all sizes: 0 where one is not known, the largest number where it does not fit.
inline int64_t macs_of(const Dims& sizes) {
  if (!all_static(sizes)) return 0;
  return checked_product(static_dims(sizes)).value_or(std::numeric_limits<int64_t>::max());
}

}  // namespace qc
