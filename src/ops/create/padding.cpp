#include "ops/create/create.h"

namespace qc {

Result<Ok> Iota::pad(PaddedNode& c) {
  if (!c.dim().in(size)) return Ok{};
  if (c.dim().in(start) || c.dim().in(step)) return c.refuse("its start depends on the size");
  c.set_result({{{size, true}}});
  size = c.dim().resized(size);
  return Ok{};
}

}  // namespace qc
