// Parts of values: ViewsSlices, the capability of views to tell of which view of a whole value
// their result is a part, where they read a part of it, for the pass merge_products; IsSlice and
// JoinsSlices, what ops do alike to parts of one value, for the pass merge_slices.
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
  /// The operand of this node is `part` of a value of shape `whole`: the view of all of it, and
  /// the part of that which is this node's result. Nullopt where the result is not such a part.
  virtual std::optional<OfWhole> of_whole(const Dims& whole, const IndexRange& slice) const = 0;
};

/// An op whose result is some indices of one axis of its operand.
class IsSlice {
 public:
  virtual ~IsSlice() = default;
  /// Nullopt where it is more than one axis, or not known.
  virtual std::optional<IndexRange> slice() const = 0;
};

/// An op that can be done to some indices of an axis of operand 0 and leave the others as they are.
class JoinsSlices {
 public:
  virtual ~JoinsSlices() = default;
  /// What nodes have in common that do the same to parts along `axis`, further operands included;
  /// empty where this one cannot be joined.
  virtual std::string slice_key(int64_t axis) const = 0;
  /// This node, without operands, for that part of a whole value, whose type the result has.
  virtual std::unique_ptr<Node> on_slice(const IndexRange& slice) const = 0;
  /// Operands from the second on of one node in place of these, which have one key and do it to
  /// parts that follow each other along `axis`.
  virtual Result<std::vector<Value*>> joined_operands(Graph&, int64_t /*axis*/,
                                                      const std::vector<Node*>& nodes) const {
    const auto& all = nodes[0]->inputs();
    return std::vector<Value*>(all.begin() + 1, all.end());
  }
};

}  // namespace qc
