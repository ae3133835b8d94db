#pragma once

#include "ops/common/window.h"

namespace qc {

/// The convolution of integers x [n, c, ...] with weights [o, c / groups, ...] of the same type.
Result<Value*> integer_conv(const Import& m, Value* x, Value* w, Value* bias, const Window& window,
                            int64_t groups);

}  // namespace qc
