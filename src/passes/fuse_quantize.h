#pragma once

#include "passes/pipeline.h"

namespace qc {

/// Makes a quantize of a float result the epilogue of the node that computes it, which then writes
/// codes (src/quant/quantize_epilogue.h):
///   %2 = rms_norm(%0, %1)
///   %3, %4, %5 = quantize_dynamic(%2) {to = i8, symmetric = true, per_token = true}    becomes
///   %3, %4, %5 = rms_norm_quantize_dynamic(%0, %1) {to = i8, symmetric = true, per_token = true}
/// The op decides whether it can and builds the node. It may absorb the addition before a norm, and
/// returns the sum if it has other readers, or the activation before a product. A norm with other
/// readers returns its floats too. The arithmetic and its order stay, so results are bit-identical.
Result<bool> fuse_quantize(Graph& graph, PassContext& context);

}  // namespace qc
