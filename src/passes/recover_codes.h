// recover_codes: replaces float weights by codes if they are exactly integers of the model times
// scales.
//
//   linear(%0, @w)    where @w was folded from i8 constants, a cast and a multiplication
// becomes
//   linear(%0, dequantize(@codes))
//
// Exporters spell weight-only quantization as arithmetic on constants, which folds to f32 weights
// of four times the bytes. A scale is found for each channel, or for each group of a channel, and
// the codes are taken only where they decode to exactly the folded weights.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> recover_codes(Graph& graph, PassContext& context);

}  // namespace qc
