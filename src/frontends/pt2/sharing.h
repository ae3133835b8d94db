// Whether the results of a node are memory of their own or views of an operand, as the strides in
// the file say.
#pragma once

#include <string>

#include "frontends/pt2/context.h"

namespace qc::pt2 {

class Sharing {
 public:
  /// `self` is the place of the operand that a view would be of among the arguments of `foreign`.
  Sharing(Context& context, const ExportedNode& node, const ForeignNode& foreign, size_t self);

  /// A cell for result `at`, which the file calls `name`. Results are asked for in order.
  Result<CellId> cell_of(size_t at, const std::string& name, Value* value);

 private:
  /// The tensor that result `at` may be a view of; empty when there is none.
  std::string base_of(size_t at) const;
  Result<CellId> view_of(CellId base, size_t at, Value* value, const TensorMeta* meta);

  Context& context_;
  const ExportedNode& node_;
  const ForeignNode& foreign_;
  const ViewOp* view_;
  size_t self_;
  Dim start_ = Dim(0);  // parts: where the next one begins
};

/// Ops that take strides speak of their operand's storage: `foreign` gets that in place of the
/// operand, with an offset from its first element.
Result<Ok> hand_over_storage(Context& context, const ExportedNode& node, ForeignNode& foreign);
/// Where such an op gave the storage's new contents, the tensor with these contents.
Result<Ok> take_back_storage(Context& context, const ExportedNode& node, const ForeignNode& foreign,
                             Values& values);

/// A tensor that lies as `meta` says in the storage of `owner`.
Result<CellId> window(Context& context, CellId owner, const TensorMeta& meta, const Loc& loc);

}  // namespace qc::pt2
