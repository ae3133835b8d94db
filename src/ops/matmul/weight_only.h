// Linear layers whose weights alone are codes.
#pragma once

#include "ops/common/weighted.h"
#include "ops/matmul/product.h"

namespace qc {

void eval_weight_only(EvalContext& c, const Product& p, const Type& weights);
Result<Ok> lower_weight_only(Lowering& l, const Product& p, int64_t macs);

}  // namespace qc
