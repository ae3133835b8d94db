// Counting the work of a node.
#pragma once

#include <limits>

#include "ir/graph.h"
#include "support/checked.h"

namespace qc {

/// The product of sizes of a node, at the largest where they are free: 0 where one has no bound,
/// the largest number where the product does not fit.
inline int64_t macs_of(const Node& node, const Dims& sizes) {
  const Graph& graph = *node.output()->graph();
  int64_t macs = 1;
  for (const Dim& d : sizes) {
    const int64_t size = graph.largest(d);
    if (!d.is_static() && size == std::numeric_limits<int64_t>::max()) return 0;
    macs = saturating_mul(macs, size);
  }
  return macs;
}

}  // namespace qc
