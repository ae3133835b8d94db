// fold_qdq: nodes between dequantize and quantize become nodes that compute on codes.
//
//   %3 = conv(dequantize(%1), dequantize(@w), @b)
//   %4 = quantize(%3) {to = T}             ->   %4 = qconv(%1, @w, @b') {to = T}
//   reshape(dequantize(%1))                ->   dequantize(reshape(%1))
//   quantize(dequantize(%1))               ->   %1 or requantize(%1)
//   quantize(tanh(dequantize(%1)))         ->   lookup(%1, @table)
//
// Ops say what they become (Quantizable); ops with the trait kOnCodes run on codes as they are;
// functions of one value become tables. No rounding of the graph is left out.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> fold_qdq(Graph& graph, PassContext& context);

}  // namespace qc
