#include "ops/quantize/quantize.h"

namespace qc {

Result<Ok> QuantizeDynamic::pad(PaddedNode& c) {
  if (!per_token) return c.refuse("padding would take part in the range of the tensor");
  return c.rows(c.resolved(-1));
}

}  // namespace qc
