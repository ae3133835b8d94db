// shift_signed: signed codes of 8 bits that one node reads, decoded, become unsigned ones with the
// zero point moved by 128, where the arithmetic says so. The values they stand for stay; sums and
// means whose zero point is added before rounding come out as ONNX Runtime's do.
//
//   %1 = quantize(%0) {to = i8 q(-128, 127, scale=0.5, zero=3), arithmetic = "onnxruntime"}
//   %2 = dequantize(%1)
// becomes
//   %1 = quantize(%0) {to = u8 q(0, 255, scale=0.5, zero=131), arithmetic = "onnxruntime"}
//   %2 = dequantize(%1)
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> shift_signed(Graph& graph, PassContext& context);

}  // namespace qc
