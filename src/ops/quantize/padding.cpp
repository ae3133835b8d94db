#include "ops/quantize/quantize.h"

namespace qc {

Result<Ok> QuantizeDynamic::pad(PaddedNode& c) {
  if (per_token) return c.rows(c.resolved(-1));
  QC_TRY(c.repeat_edges());
  c.set_result(0, c.padding(0));
  return Ok{};
}

}  // namespace qc
