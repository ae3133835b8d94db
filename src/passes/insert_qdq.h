// insert_qdq: inserts quantize and dequantize nodes around each node with a noted scheme; the node
// itself stays float.
//
//   %1 = conv(%0, @w, @b)   (noted: int8, scale 0.05)
// becomes
//   %1 = quantize(%0) {to = i8 q(..., scale=0.05)}
//   %2 = dequantize(%1)
//   %3 = dequantize(@w as codes)
//   %4 = conv(%2, %3, @b)
//   %5 = quantize(%4) {to = i8 q(..., scale=0.05)}
//   %6 = dequantize(%5)
//
// An operand that is dequantized already, directly or behind ops that take codes unchanged, keeps
// its format unless the rule states another.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> insert_qdq(Graph& graph, PassContext& context);

}  // namespace qc
