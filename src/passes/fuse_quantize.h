#pragma once

#include "passes/pipeline.h"

namespace qc {

/// A quantize of a float result becomes the epilogue of the node that
/// computes it, which then writes codes itself (src/quant/quantize_epilogue.h):
///   %2 = rms_norm(%0, %1)
///   %3, %4, %5 = quantize_dynamic(%2) {to = i8, symmetric = true, per_token = true}    becomes
///   %3, %4, %5 = rms_norm_quantize_dynamic(%0, %1) {to = i8, symmetric = true, per_token = true}
/// The op says whether it can, and builds the node; it may take in an addition before a norm, whose
/// sum it returns where others read it, or the activation before a product. A norm that others read
/// as floats returns them too. Floats and codes are computed by the same arithmetic in the same
/// order, so no bit changes.
Result<bool> fuse_quantize(Graph& graph, PassContext& context);

}  // namespace qc
