// Slices of values. ViewsSlices moves views past slices, for the pass merge_products. IsSlice and
// JoinsSlices describe ops that do the same to slices of one value, for the pass merge_slices.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace qc {

/// `size` indices along an axis, from `start` on.
struct IndexRange {
  int64_t axis = 0, start = 0, size = 0;
};

class ViewsSlices {
 public:
  struct OfWhole {
    std::unique_ptr<Node> view;  // without operands
    IndexRange slice;            // of its result
  };
  virtual ~ViewsSlices() = default;
  /// With the operand being `slice` of a value of shape `whole`: a view of the whole value, and the
  /// slice of that view that equals this node's result. Nullopt if the result is no slice of one.
  virtual std::optional<OfWhole> of_whole(const Dims& whole, const IndexRange& slice) const = 0;
};

/// An op whose result is some indices of one axis of its operand.
class IsSlice {
 public:
  virtual ~IsSlice() = default;
  /// Nullopt if several axes are sliced, or the range is unknown at compile time.
  virtual std::optional<IndexRange> slice() const = 0;
};

/// An op that can be restricted to a range of one axis of operand 0; other elements stay unchanged.
class JoinsSlices {
 public:
  virtual ~JoinsSlices() = default;
  /// Nodes with equal keys do the same to slices along `axis`. The key covers all operands after
  /// the first. Empty if this node cannot be merged.
  virtual std::string slice_key(int64_t axis) const = 0;
  /// This node, without operands, restricted to `slice` of a whole value; its result has the type
  /// of the whole value.
  virtual std::unique_ptr<Node> on_slice(const IndexRange& slice) const = 0;
  /// The operands after the first for one node that replaces `nodes`. These have equal keys, and
  /// their slices are adjacent along `axis`, in order.
  virtual Result<std::vector<Value*>> joined_operands(Graph&, int64_t /*axis*/,
                                                      const std::vector<Node*>& nodes) const {
    const auto& all = nodes[0]->inputs();
    return std::vector<Value*>(all.begin() + 1, all.end());
  }
};

}  // namespace qc
