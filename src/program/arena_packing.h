// Packs live intervals into an arena: the part of the memory plan that knows no Program.
#pragma once

#include <cstdint>
#include <vector>

namespace qc {

struct Interval {
  int first, last;  // inclusive times
  int64_t bytes;    // a multiple of the alignment
  int64_t offset = -1;
};

/// Sets all offsets so that intervals with common times do not overlap, and returns the size of the
/// arena. Deterministic; stops early at `lower_bound`.
int64_t pack_intervals(std::vector<Interval>& intervals, int64_t align, int64_t lower_bound);

}  // namespace qc
