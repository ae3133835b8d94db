// ViewsParts: the capability of views to tell of which view of a whole value their result is a
// part, where they read a part of it. The pass merge_products asks for it.
#pragma once

#include <memory>
#include <optional>

#include "ir/node.h"

namespace qc {

/// `size` indices along an axis, from `start` on.
struct IndexRange {
  int64_t axis = 0, start = 0, size = 0;
};

class ViewsParts {
 public:
  struct OfWhole {
    std::unique_ptr<Node> view;  // without operands
    IndexRange part;             // of its result
  };
  virtual ~ViewsParts() = default;
  /// The operand of this node is `part` of a value of shape `whole`: the view of all of it, and
  /// the part of that which is this node's result. Nullopt where the result is not such a part.
  virtual std::optional<OfWhole> of_whole(const Dims& whole, const IndexRange& part) const = 0;
};

}  // namespace qc
