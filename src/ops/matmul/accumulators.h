// Products of codes: reference evaluation and lowering.
#pragma once

#include "interp/eval.h"
#include "ops/common/weighted.h"
#include "ops/matmul/lowered.h"

namespace qc {

/// Evaluates a product of codes whose operands are x, w, bias, scales and zero points of x, by
/// PlainLoops or FastLoops.
template <class Loops>
void eval_accumulators(EvalContext& c, const QuantNode& node, const GemmShape& p,
                       AccumulatorOutput output);
/// Lowers it; `output` has no bias yet.
Result<Ok> lower_accumulators(Lowering& l, const QuantNode& node, const GemmDims& p,
                              AccumulatorOutput output, int64_t macs);

}  // namespace qc
