#include "ops/rotary/rotary.h"

namespace qc {

Result<Ok> RowRotation::pad(PaddedNode& c) const {
  for (size_t i = 0; i < c.operands().size(); ++i) {
    if (c.is_padded(i) && c.is_padded(i, std::ssize(c.shape(i)) - 1))
      return c.refuse("it mixes elements along it");
  }
  if (count >= 0 && c.is_padded(0, axis)) return c.refuse("it turns some of it");
  return c.broadcast();
}

/// One scale for all is that of the elements that are meant, since the others are copies of them.
Result<Ok> RotaryQuantize::pad(PaddedNode& c) {
  const std::vector<Padding> none = c.results();
  QC_TRY(rotation.pad(c));
  if (!epilogue.dynamic || epilogue.per_token) return Ok{};
  for (size_t i = 1; i < none.size(); ++i) c.set_result(i, none[i]);
  return c.repeat_edges();
}

}  // namespace qc
