// What ATen ops do to memory: which return views of their first operand and how a write to such a
// view goes back into the operand, and which write in place.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "frontends/common/foreign.h"
#include "frontends/pt2/program.h"

namespace qc::pt2 {

/// How a write through a view reaches the viewed tensor.
enum class WriteBack {
  identity,  // the view is the tensor itself
  reshape,   // reshape back to the tensor's shape
  permute,   // the inverse permutation
  slice,     // scatter along one axis
  select,    // scatter at one index
  parts,     // output i of split / chunk: a slice
  unbind,    // output i of unbind: an index
  diagonal,
  none,  // not possible: overlapping or reinterpreted memory
};

struct ViewOp {
  std::string_view op;  // "view.default"
  WriteBack write_back;
  /// A copy is returned where the strides do not allow a view (reshape), or the operand already
  /// fits (to, contiguous).
  bool may_copy = false;
};

/// Null when the op always returns fresh memory. Views that only their import row knows of cannot
/// be written through.
const ViewOp* find_view(std::string_view op);

/// The plain form of an in-place op: "add_.Tensor" -> "add.Tensor"; nothing when `op` does not
/// write.
std::optional<std::string> plain_form(std::string_view op);

/// Whether an op marked `may_copy` returned a view, judging by the recorded sizes and strides.
/// Symbolic strides count as dense ones.
bool returns_view(const ViewOp& view, const TensorMeta& from, const TensorMeta& to);

/// The permutation of the view op with arguments `args` on a tensor of this rank.
Result<Ints> permutation(std::string_view op, const Import& import, int64_t rank);

}  // namespace qc::pt2
