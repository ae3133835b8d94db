#include "ops/rotary/rotary.h"

namespace qc {

Result<Ok> Rotary::pad(PaddedNode& c) {
  for (size_t i = 0; i < c.operands().size(); ++i) {
    if (c.is_padded(i) && c.is_padded(i, std::ssize(c.shape(i)) - 1))
      return c.refuse("it mixes elements along it");
  }
  return c.broadcast();
}

}  // namespace qc
