// What ATen ops do to memory: which may return a view of an operand and when they do, how a write
// to such a view goes back into the operand, and which write in place.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "frontends/common/foreign.h"
#include "frontends/pt2/program.h"
#include "frontends/pt2/strides.h"

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
  strided,  // scatter over the storage by the view's own strides
};

/// When an op returns a view rather than a copy. The op's name says which question PyTorch asks,
/// the operand's strides answer it.
enum class Shares {
  always,
  if_viewable,    // reshape: the strides allow the new sizes
  if_contiguous,  // contiguous: the elements lie in the wanted order already
  if_unchanged,   // to: no copy is asked for and type, device and memory format fit
  if_alone,       // an op on a list that hands on a single tensor
  if_unsummed,    // einsum of one tensor that only reorders its axes or takes diagonals
};

struct ViewOp {
  std::string_view op;  // "view.default"
  WriteBack write_back;
  Shares shares = Shares::always;
  /// The view is of the operand's storage, whatever the operand's own sizes and strides.
  bool of_storage = false;
  /// Several elements of the view may be one of the operand's.
  bool may_overlap = false;
};

/// Null when the op always returns fresh memory.
const ViewOp* find_view(std::string_view op);

/// The plain form of an in-place op: "add_.Tensor" -> "add.Tensor", "__ior__.Tensor" ->
/// "__or__.Tensor"; nothing when `op` is not in place.
std::optional<std::string> functional_name(std::string_view op);

/// Whether the node may return a view of an operand, judging by its arguments alone.
bool may_share(const ViewOp& view, const ExportedNode& node);
/// Whether it returned one, for an operand that lies like `from` and a result like `to`; `facts`
/// says what this rests on.
bool returns_view(const ViewOp& view, const ExportedNode& node, const Layout& from,
                  const Layout& to, SizeFacts& facts);

/// The permutation of the view op with arguments `args` on a tensor of this rank.
Result<Ints> permutation(std::string_view op, const Import& import, int64_t rank);

}  // namespace qc::pt2
