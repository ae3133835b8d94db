// expose_codes: inputs and outputs of the model become codes where quantize and dequantize stand at
// its edges.
//
//   input %x: f32[2]; %1 = quantize(%x) {to = T}   ->   input %x: T[2]
//   %9 = dequantize(%8); output %9                 ->   output %8
//
// An input that is read in two formats, or as a float too, stays as it is.
#pragma once

#include "passes/pipeline.h"

namespace qc {

/// True when an input or output changed. For the graph of the model only, not for regions.
Result<bool> expose_codes(Graph& graph, PassContext& context);

}  // namespace qc
