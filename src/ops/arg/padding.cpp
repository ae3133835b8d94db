#include "ops/arg/arg.h"

namespace qc {

/// Of equal elements the first counts, so padding after them is never chosen.
Result<Ok> ArgExtreme::pad(PaddedNode& c) {
  const int64_t at = c.resolved(axis);
  if (c.is_padded(0, at)) {
    if (select_last) return c.refuse("of equal elements it takes the last");
    QC_TRY(c.fill(0, at, largest_ ? Fill::lowest : Fill::highest));
  }
  Padding to = c.padding(0);
  to[static_cast<size_t>(at)].clear();
  if (!keepdims) to.erase(to.begin() + at);
  c.set_result(std::move(to));
  return Ok{};
}

}  // namespace qc
