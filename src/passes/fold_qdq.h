// fold_qdq: replaces float nodes between dequantize and quantize by nodes on codes.
//
//   %3 = conv(dequantize(%1), dequantize(@w), @b)
//   %4 = quantize(%3) {to = T}             ->   %4 = qconv(%1, @w, @b') {to = T}
//   reshape(dequantize(%1))                ->   dequantize(reshape(%1))
//   quantize(dequantize(%1))               ->   %1 or requantize(%1)
//   quantize(tanh(dequantize(%1)))         ->   lookup(%1, @table)
//
// Ops define their integer form (Quantizable), ops with the trait kOnCodes take codes unchanged,
// and functions of one value become lookup tables. The pass drops no rounding of the graph.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> fold_qdq(Graph& graph, PassContext& context);

}  // namespace qc
