#include "ops/norm/norm.h"

namespace qc {

Result<Ok> Norm::pad(PaddedNode& c) {
  return c.rows(kind == NormKind::group ? 1 : c.resolved(axis));
}

Result<Ok> ScaleShiftNode::pad(PaddedNode& c) { return c.except(axis); }

}  // namespace qc
