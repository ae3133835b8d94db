// Ops that read or write at places that an operand lists.
#pragma once

#include <string>

#include "ir/type.h"
#include "support/diag.h"

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

/// Why an index is refused that is not in [least, most]; `loc` is the layer that counts with it.
inline Diag bad_index(const Loc& loc, int64_t index, int64_t least, int64_t most) {
  return error(Code::input, loc, "an index is {}, and the layer takes {} to {}", index, least,
               most);
}

}  // namespace qc
