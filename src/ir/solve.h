// Sizes of dimensions from sizes of axes.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "ir/dim.h"

namespace qc {

/// Adds to `known` what the sizes of axes say: an axis `2*seq + 1` of 9 elements says that seq
/// is 4. Only axes are used that have one unknown symbol and grow evenly with it; whether they have
/// the size that all symbols then give them is left to the caller.
void solve_axes(const std::vector<std::pair<Dim, int64_t>>& axes, Bindings& known);

}  // namespace qc
