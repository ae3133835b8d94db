#include "ops/rotary/rotary.h"

namespace qc {

Result<Ok> Turn::pad(PaddedNode& c) const {
  for (size_t i = 0; i < c.operands().size(); ++i) {
    if (c.is_padded(i) && c.is_padded(i, std::ssize(c.shape(i)) - 1))
      return c.refuse("it mixes elements along it");
  }
  if (count >= 0 && c.is_padded(0, axis)) return c.refuse("it turns some of it");
  return c.broadcast();
}

Result<Ok> RotaryQuantize::pad(PaddedNode& c) {
  if (ending.dynamic && !ending.per_token)
    return c.refuse("padding would take part in the range of the tensor");
  return turn.pad(c);
}

}  // namespace qc
