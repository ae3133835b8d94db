// What op classes that read codes where floats are meant share: a dequantize before them becomes
// part of them.
#pragma once

#include <vector>

#include "interp/eval.h"
#include "ir/graph.h"
#include "quant/scheme.h"

namespace qc {

/// The codes of which `x` is no more than the floats, with static scales: null for other values.
Value* codes_behind(Value* x);
/// The floats that codes with static scales stand for; floats themselves.
Tensor decoded(const Tensor& x, const Type& type);
/// The type of the floats that a value of `type` stands for, codes with static scales or f32. An
/// error for others.
Result<Type> decoded_type(const Type& type, const Loc& loc);

}  // namespace qc
