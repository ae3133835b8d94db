// Products with weights that are several matrices, such as the experts of a mixture.
#pragma once

#include "ir/capability.h"

namespace qc {

/// A product whose weights may be several matrices. Each result sums over one of them, and all have
/// one scale together.
class MayHaveWeightMatrices {
 public:
  virtual ~MayHaveWeightMatrices() = default;
  /// The constant with the matrices; null where the operand is no constant, or one matrix.
  virtual const Value* weight_matrices() const = 0;
};

inline const Value* weight_matrices(Node& node) {
  const auto* product = capability<MayHaveWeightMatrices>(&node);
  return product ? product->weight_matrices() : nullptr;
}

}  // namespace qc
