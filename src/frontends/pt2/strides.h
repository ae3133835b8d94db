// Where the elements of a tensor lie in its storage, and the questions PyTorch asks about that
// before it returns a view or a copy.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace qc::pt2 {

/// Element [i, j, ...] is element offset + i * strides[0] + j * strides[1] + ... of the storage.
struct Layout {
  Dims sizes, strides;
  Dim offset;

  bool operator==(const Layout& other) const = default;
};

/// Compares sizes that may be symbolic: by proof where the model's ranges allow one, else as they
/// compare for the example sizes the model was traced with. `assumed` then lists what must hold for
/// the answers to be right; without example sizes, nothing is `decided`.
class SizeFacts {
 public:
  /// `model` states the ranges of symbols.
  explicit SizeFacts(const Graph& model) : model_(model) {}

  bool equal(const Dim& a, const Dim& b);
  bool less(const Dim& a, const Dim& b);
  /// Whether one of the two equations holds; assumes as little as it can.
  bool either_equal(const Dim& a, const Dim& b, const Dim& c, const Dim& d);

  /// Nothing is known of these sizes.
  void give_up() { decided_ = false; }
  const std::vector<DimGuard>& assumed() const { return assumed_; }
  bool decided() const { return decided_; }

 private:
  std::optional<bool> proof(const Dim& a, const Dim& b) const;
  bool positive(const Dim& d) const;
  bool assume(const Dim& a, const Dim& b, DimGuard::Op yes, DimGuard::Op no);

  const Graph& model_;
  std::vector<DimGuard> assumed_;
  bool decided_ = true;
};

/// PyTorch's memory formats as a file numbers them.
enum class MemoryFormat : int64_t {
  contiguous = 1,
  channels_last = 2,
  channels_last_3d = 3,
  preserve = 4
};

/// Whether the elements lie in this format's order without gaps.
bool is_contiguous(const Layout& from, MemoryFormat format, SizeFacts& facts);
/// The format PyTorch reads off the order of strides; what is not channels-last is `contiguous`.
MemoryFormat suggested_format(const Layout& from, SizeFacts& facts);
/// Whether a tensor can be seen under the sizes `target` without a copy: every block of target axes
/// must fall on one run of axes that are dense with respect to each other.
bool can_view(const Layout& from, const Dims& target, SizeFacts& facts);

/// The axes from the outermost to the innermost in memory, when the tensor fills one piece of its
/// storage without gaps for all sizes.
std::optional<std::vector<int64_t>> dense_order(const Layout& layout);
/// Whether no two elements share memory, for all sizes the model allows.
bool never_overlaps(const Layout& layout, const Graph& model);
/// Whether every axis of `view` is one of `base`, apart from axes of size 1.
bool has_axes_of(const Layout& view, Layout base);

}  // namespace qc::pt2
