// JoinsProducts: the capability of products with constant weights to be computed together with
// others of the same operand. The pass merge_products asks for it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace qc {

/// Something that products must have in common to be joined, in a user's words.
struct InCommon {
  std::string_view what;
  std::string value;
};

/// A product of a value with constant weights, whose result has a row of weights for each index of
/// its last axis.
class JoinsProducts {
 public:
  virtual ~JoinsProducts() = default;
  /// Why this product is joined with no other; empty where it can be.
  virtual std::string_view unmerged_because() const = 0;
  /// What others must have in common with it beside the op and all operands that are no constants:
  /// the same things in the same order for every product of the op.
  virtual std::vector<InCommon> in_common() const = 0;
  /// One product, before `before`, in place of `products`: nodes of this op that have all that in
  /// common, of which it is the first. Their results lie side by side along its last axis, bit for
  /// bit.
  virtual Result<Node*> join(Graph& graph, const std::vector<Node*>& products,
                             Node* before) const = 0;
};

/// The rows of constants one after the other, joined when they are needed.
ConstId joined_rows(ConstantPool& pool, const std::vector<ConstId>& parts);
/// The format of codes that lie side by side along an axis: scales and zero points of each stay,
/// those for a whole value become one for each of its indices.
std::shared_ptr<const Format> joined_format(const std::vector<const Type*>& parts,
                                            int64_t axis = 0);

}  // namespace qc
