// Ops that read or write at places that an operand lists.
#pragma once

#include <string>

#include "ir/type.h"

namespace qc {

/// An operand of indices into an axis of `sizes[0]` elements; with several sizes its last axis
/// holds tuples, one index for each of them. A negative index counts from the end.
struct IndexOperand {
  size_t operand = 0;
  Dims sizes;
};

/// An op that reads or writes elements at places that are listed in an operand.
class TakesIndices {
 public:
  virtual ~TakesIndices() = default;
  virtual IndexOperand index_operand() const = 0;
};

/// Elements of an integer input that must lie in [least, most]: a layer counts with them.
struct IndexCheck {
  size_t input = 0;
  Dim least, most;
  std::string layer;  // by its first name
};

}  // namespace qc
