// Products of codes: reference evaluation and lowering.
#pragma once

#include "interp/eval.h"
#include "ops/common/weighted.h"
#include "ops/matmul/lowered.h"

namespace qc {

/// Evaluates a product of codes whose operands are x, w, bias, scales and zero points of x, by
/// PlainLoops or FastLoops.
template <class Loops>
void eval_sums(EvalContext& c, const QuantNode& node, const GemmShape& p, SumOutput output);
/// Lowers it; `output` has no bias yet.
Result<Ok> lower_sums(Lowering& l, const QuantNode& node, const GemmDims& p, SumOutput output,
                      int64_t macs);

}  // namespace qc
