// Sums under a sliding window written out tap by tap, for element types without kernels of their
// own.
#pragma once

#include <functional>

#include "ops/common/window.h"

namespace qc {

/// The sum over all taps of a window of `term(elements, tap)`, where `elements` [n, c, out...] are
/// what of `x` lies under the tap at every position, zeros in the padding.
Result<Value*> tap_sums(const Import& m, Value* x, const Window& window,
                        const std::function<Result<Value*>(Value*, int64_t)>& term);

}  // namespace qc
