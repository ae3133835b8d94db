// Liveness of a Program's storage: when each buffer that owns bytes is first and last touched.
#pragma once

#include <vector>

#include "program/program.h"

namespace qc {

/// Steps are numbered in execution order, bodies of control flow included. A range is empty
/// (first > last) when nothing touches the buffer.
struct LiveRange {
  int first = 1, last = 0;
  bool empty() const { return first > last; }
};

struct Liveness {
  std::vector<LiveRange> ranges;  // by buffer; only buffers that own storage have one
  int steps = 0;
};

/// What is carried from one trip of a loop to the next, or used on both sides of it, lives through
/// the whole loop.
Liveness liveness(const Program& program);

/// The largest sum of bytes, at the largest sizes (each rounded up to its alignment) alive
/// together: no placement can be smaller for this order of steps.
int64_t arena_lower_bound(const Program& program);

}  // namespace qc
