#include "ops/norm/norm.h"

namespace qc {

Result<Ok> Norm::pad(PaddedNode& c) {
  return c.rows(rows.kind == NormKind::group ? 1 : c.resolved(rows.axis));
}

Result<Ok> NormQuantize::pad(PaddedNode& c) {
  if (ending.dynamic && !ending.per_token) {
    return c.refuse("padding would take part in the range of the tensor");
  }
  return c.rows(rows.kind == NormKind::group ? 1 : c.resolved(rows.axis));
}

Result<Ok> ScaleShiftNode::pad(PaddedNode& c) { return c.except(axis); }

}  // namespace qc
