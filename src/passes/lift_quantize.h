// lift_quantize: moves quantize nodes up past ops that only move elements, and merges equal ones of
// one value.
//
//   quantize(reshape(%x))                    ->   reshape(quantize(%x))
//   quantize(slice(%x)), quantize(slice'(%x))->   slice(%q), slice'(%q) of one %q = quantize(%x)
//   quantize(%x), quantize(%x)               ->   one of them
//
// Every element keeps its scale, and dynamic scales are computed from the same elements, so results
// stay bit-identical. Ops that move elements map scales of the result to their operands
// (MovesScales); ops that make codes say whether they support that granularity (MakesCodes). The
// pass never increases the number of quantized elements. It moves codes beside floats with other
// readers only if that saves a quantize.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> lift_quantize(Graph& graph, PassContext& context);

}  // namespace qc
