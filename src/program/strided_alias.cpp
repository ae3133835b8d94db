#include "program/strided_alias.h"

#include "ir/strides.h"

namespace qc {
namespace {

/// So many views of views are looked through.
constexpr int kMaxViews = 8;

const AliasesOperand* view_of(const Node* node) {
  const auto* view = dynamic_cast<const AliasesOperand*>(node);
  const bool plain = view && node->input_type(0).layout == Layout::row_major &&
                     node->output()->type().layout == Layout::row_major;
  return plain ? view : nullptr;
}

bool is_dense(const Dims& shape, const Dims& strides) {
  const Dims dense = dense_strides(shape);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!(shape[i] == Dim(1)) && !(strides[i] == dense[i])) return false;
  }
  return true;
}

bool follow_each_other(const Dims& shape, const Dims& strides) {
  return shape.empty() || shape.back() == Dim(1) || strides.back() == Dim(1);
}

/// Whether all who read the value take it with these strides.
bool all_take(const Value* value, const Dims& strides, int views) {
  if (value->pinned() > 0 || views == 0) return false;
  for (const Use* use = value->first_use(); use; use = use->next) {
    if (const AliasesOperand* view = view_of(use->user)) {
      const std::optional<StridedAlias> below = view->alias(strides);
      if (!below || !all_take(use->user->output(), below->strides, views - 1)) return false;
      continue;
    }
    const auto* reader = dynamic_cast<const TakesStrides*>(use->user);
    if (!reader || !follow_each_other(value->shape(), strides) ||
        !reader->takes_strides(use->index, strides)) {
      return false;
    }
  }
  return true;
}

/// A view more than `views` views above a reader is never placed, so neither asks for more.
std::optional<StridedAlias> strided_alias(const Value* value, int views) {
  const AliasesOperand* view = views > 0 ? view_of(value->def()) : nullptr;
  if (!view) return std::nullopt;
  const Value* x = value->def()->input(0);
  const std::optional<StridedAlias> above = strided_alias(x, views - 1);
  std::optional<StridedAlias> here =
      view->alias(above ? above->strides : dense_strides(x->shape()));
  if (above || !here) return here;
  if (is_dense(value->shape(), here->strides)) return std::nullopt;
  return all_take(value, here->strides, kMaxViews) ? here : std::nullopt;
}

}  // namespace

std::optional<StridedAlias> strided_alias(const Value* value) {
  return strided_alias(value, kMaxViews);
}

Dims strides_in(const Node& node, size_t i) {
  const std::optional<StridedAlias> at = strided_alias(node.input(i));
  return at ? at->strides : dense_strides(node.input(i)->shape());
}

std::optional<RowBlocks> row_blocks(const Dims& shape, const Dims& strides) {
  if (shape.empty() || !follow_each_other(shape, strides)) return std::nullopt;
  RowBlocks out;
  Dim expected = shape.back();
  bool within = true;
  for (size_t i = shape.size() - 1; i-- > 0;) {
    if (shape[i] == Dim(1)) continue;
    if (!(strides[i] == expected)) {
      if (!within) return std::nullopt;
      within = false;
      out.stride = strides[i];
    }
    if (within) out.rows = out.rows * shape[i];
    expected = strides[i] * shape[i];
  }
  return out;
}

bool are_rows_apart(const Dims& shape, const Dims& strides) {
  if (shape.size() < 2) return true;
  Dim expected = strides[shape.size() - 2] * shape[shape.size() - 2];
  for (size_t i = shape.size() - 2; i-- > 0;) {
    if (shape[i] == Dim(1)) continue;  // its stride says nothing
    if (!(strides[i] == expected)) return false;
    expected = strides[i] * shape[i];
  }
  return true;
}

}  // namespace qc
