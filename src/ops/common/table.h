// Picks by tables: element (i, j, ...) of the result is the operand's at first[i] + second[j] + ...
// What padding by mirrored elements and resizing to the nearest element come down to.
#pragma once

#include "interp/eval.h"
#include "program/lowering.h"

namespace qc {

/// One list of offsets per axis, in elements.
using Tables = std::vector<Ints>;

void pick_elements(const Tables& tables, const Tensor& x, Tensor& y);
Result<Ok> call_table(Lowering& l, Tables tables, DType dtype, View from, View to);

/// Lists of places along the logical axes of `x` as offsets into it, in the order of y's memory.
Tables physical_tables(const Tables& positions, const Type& x, const Type& y);

}  // namespace qc
