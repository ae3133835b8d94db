#include "ops/slice/slice.h"

namespace qc {

const OpInfo Slice::kInfo = {
    .name = "slice",
    .traits = kMovesElements | kAnyLayout,
    .summary = "a regular part of the operand: start, size and step along each axis",
};

const OpInfo AsStrided::kInfo = {
    .name = "as_strided",
    .traits = kMovesElements,
    .summary = "elements of the row-major operand under given sizes, strides and offset",
};

std::optional<StridedAlias> Slice::alias(const Dims& x) const {
  for (const Dim& s : step) {
    if (!s.is_static() || s.value() < 1) return std::nullopt;
  }
  Strided s = view(x, x);
  return StridedAlias{std::move(s.from), std::move(s.from_offset)};
}

std::optional<IndexRange> Slice::slice() const {
  std::optional<IndexRange> found;
  const Dims& whole = input_type(0).shape;
  for (size_t i = 0; i < whole.size(); ++i) {
    if (!(step[i] == Dim(1))) return std::nullopt;
    if (start[i] == Dim(0) && size[i] == whole[i]) continue;
    if (found || !all_static({start[i], size[i], whole[i]})) return std::nullopt;
    found = IndexRange{static_cast<int64_t>(i), start[i].value(), size[i].value()};
  }
  return found;
}

std::shared_ptr<const Format> Slice::slice_format(const Type& x) const {
  const Format& f = *x.format;
  if (f.granularity != Granularity::axis || f.is_dynamic()) return nullptr;
  const size_t axis = static_cast<size_t>(f.axis);
  if (!(step[axis] == Dim(1)) || !all_static({start[axis], size[axis]}) || size[axis] == Dim(0)) {
    return nullptr;
  }
  return std::make_shared<Format>(
      one_where_equal(scales_from(f, start[axis].value(), size[axis].value())));
}

Laid Slice::laid_over(size_t, const Format& result) const {
  const bool found = result.is_dynamic();
  const bool apart = result.granularity != Granularity::group;
  if (found && apart) return {{}, kOtherElements};
  if (result.granularity == Granularity::tensor) return {result, {}};
  if (!found && !apart) return {{}, kKnownForSlice};
  const size_t axis = static_cast<size_t>(result.axis);
  const Dim& whole = input_type(0).shape[axis];
  if (start[axis] == Dim(0) && size[axis] == whole && step[axis] == Dim(1)) return {result, {}};
  if (!found) return {{}, kKnownForSlice};
  // Groups that the slice takes or leaves as a whole.
  const auto whole_groups = [&](const Dim& at) {
    return at.is_static() && at.value() % result.group == 0;
  };
  const Dim end = start[axis] + size[axis];
  if (step[axis] == Dim(1) && whole_groups(start[axis]) && (whole_groups(end) || end == whole)) {
    return {result, {}};
  }
  return {{}, kOtherElements};
}

std::unique_ptr<Node> Slice::scale_mover(const Format& result) const {
  if (result.granularity != Granularity::group) return nullptr;
  const size_t axis = static_cast<size_t>(result.axis);
  auto node = std::make_unique<Slice>(*this);
  node->start[axis] = floordiv(start[axis], Dim(result.group));
  node->size = scale_shape(result, size);
  return node;
}

}  // namespace qc
