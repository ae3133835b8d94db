// A capability of products whose sums are exact, so that the order of their terms is free.
#pragma once

#include "ir/graph.h"

namespace qc {

/// A product of operand 0, along its last axis, with a constant matrix of weights [n, k].
class AccumulatesInAnyOrder {
 public:
  virtual ~AccumulatesInAnyOrder() = default;
  /// The operand that has the weights, if the same permutation of their k columns and of the last
  /// axis of operand 0 leaves every bit of the result as it is; -1 if it does not. Sums of floats
  /// are rounded at each term and so are never among them.
  virtual int any_order_weights() const = 0;
};

}  // namespace qc
