// expose_codes: makes inputs and outputs of the model codes if they are quantized or dequantized
// first and last.
//
//   input %x: f32[2]; %1 = quantize(%x) {to = T}   ->   input %x: T[2]
//   %9 = dequantize(%8); output %9                 ->   output %8
//
// Inputs with readers of several formats, or with readers of floats, stay floats.
#pragma once

#include "passes/pipeline.h"

namespace qc {

/// True when an input or output changed. For the graph of the model only, not for regions.
Result<bool> expose_codes(Graph& graph, PassContext& context);

}  // namespace qc
