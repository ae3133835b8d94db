// Linear layers whose weights alone are codes.
#pragma once

#include "ops/common/weighted.h"
#include "ops/matmul/lowered.h"

namespace qc {

/// Evaluates it by PlainLoops or FastLoops.
template <class Loops>
void eval_weight_only(EvalContext& c, const GemmShape& p, const Type& weights);
Result<Ok> lower_weight_only(Lowering& l, const GemmDims& p, int64_t macs);

}  // namespace qc
