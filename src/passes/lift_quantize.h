// lift_quantize: quantize nodes move up past ops that only move elements, and equal ones of a value
// become one.
//
//   quantize(reshape(%x))                    ->   reshape(quantize(%x))
//   quantize(slice(%x)), quantize(slice'(%x))->   slice(%q), slice'(%q) of one %q = quantize(%x)
//   quantize(%x), quantize(%x)               ->   one of them
//
// Every element keeps its scale, and scales that are found at run time are found from the same
// elements, so that all answers keep their bits: ops that move elements say how scales lie over
// their operands (MovesScales), and ops that make codes whether they can lay them so (MakesCodes).
// Never are more elements quantized than before, and floats that others read too are not moved a
// second time as codes unless that saves a quantize.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> lift_quantize(Graph& graph, PassContext& context);

}  // namespace qc
