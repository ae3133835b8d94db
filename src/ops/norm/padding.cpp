#include "ops/norm/norm.h"

namespace qc {

Result<Ok> Norm::pad(PaddedNode& c) {
  return c.rows(rows.kind == NormKind::group ? 1 : c.resolved(rows.axis));
}

Result<Ok> NormQuantize::pad(PaddedNode& c) {
  QC_TRY(c.rows(rows.kind == NormKind::group ? 1 : c.resolved(rows.axis)));
  return epilogue.dynamic && !epilogue.per_token ? c.repeat_edges() : Ok{};
}

Result<Ok> ScaleShiftNode::pad(PaddedNode& c) { return c.except(axis); }

}  // namespace qc
