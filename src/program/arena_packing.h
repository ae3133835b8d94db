// Placing intervals in an arena: the packing half of the memory plan, free of everything else.
#pragma once

#include <cstdint>
#include <vector>

namespace qc {

struct Interval {
  int first, last;  // inclusive times
  int64_t bytes;    // a multiple of the alignment
  int64_t offset = -1;
};

/// Sets every offset so that intervals alive together do not overlap and returns the arena's size.
/// Stops early when it reaches `lower_bound`; deterministic.
int64_t pack_intervals(std::vector<Interval>& intervals, int64_t align, int64_t lower_bound);

}  // namespace qc
