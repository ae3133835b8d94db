// Linear layers whose weights alone are codes.
#pragma once

#include "ops/common/weighted.h"
#include "ops/matmul/product.h"

namespace qc {

/// Checks the types of a linear layer of floats with codes of weights.
Result<Ok> check_weight_only(const Node& node, const QType& to);
void eval_weight_only(EvalContext& c, const Product& p, const Type& weights);
Result<Ok> lower_weight_only(Lowering& l, const Product& p, int64_t macs);

}  // namespace qc
