#include "ops/slice/slice.h"

namespace qc {

/// A part that begins at a fixed place ends earlier by as much as the operand does; one of a fixed
/// size may begin anywhere.
Result<Ok> Slice::pad(PaddedNode& c) {
  Padding to(size.size());
  const BucketedDim& dim = c.dim();
  for (size_t i = 0; i < size.size(); ++i) {
    const AxisSegments& from = c.padding(0)[i];
    const bool whole = start[i] == 0 && step[i] == 1 && size[i] == c.shape(0)[i];
    if (dim.in(step[i]) || (dim.in(start[i]) && dim.in(size[i])))
      return c.refuse("its start depends on the size");
    if (from.size() > 1 && !whole) return c.refuse("padding lies between elements it takes");
    if (dim.in(size[i])) {
      to[i] = whole ? from : AxisSegments{{size[i], true}};
      size[i] = dim.resized(size[i]);
    } else if (dim.in(start[i])) {
      // Never beyond the operand, whatever the other buckets are.
      start[i] = min(start[i], dim.resized(c.shape(0)[i]) - Dim(1) - (size[i] - Dim(1)) * step[i]);
    }
  }
  c.set_result(std::move(to));
  return Ok{};
}

}  // namespace qc
