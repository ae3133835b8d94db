// Ranges along an axis as models write them, brought to start, size and step.
#pragma once

#include <optional>

#include "frontends/common/foreign.h"

namespace qc {

struct Range {
  Dim start, size, step;
};

/// Whether a >= b for all sizes the model allows; symbols are at least 1.
bool at_least(const Graph& graph, const Dim& a, const Dim& b);

/// start:end:step over an axis of `extent` elements after Python's rules (negative bounds count
/// from the end, bounds are clamped). Symbolic bounds are taken to lie inside the axis; that is
/// checked once they are numbers.
Result<Range> resolve_range(const Import& m, const Dim& extent, std::optional<Dim> start,
                            std::optional<Dim> end, int64_t step);
/// Element `index` of an axis, counted from the end when negative.
Result<Range> resolve_index(const Import& m, const Dim& extent, const Dim& index);

/// The elements of `x` in `ranges` (one per axis); `x` itself when they are all of them.
Result<Value*> take(const Import& m, Value* x, const std::vector<Range>& ranges);
/// The elements of `x` in one range along `axis`.
Result<Value*> take(const Import& m, Value* x, int64_t axis, const Range& range);
/// `x` under another shape; `x` itself when it has that shape.
Result<Value*> reshaped(const Import& m, Value* x, const Dims& shape);

/// An error unless the box start, size, step lies inside `shape`, as far as it is known.
Result<Ok> check_box(const Dims& shape, const Dims& start, const Dims& size, const Dims& step,
                     const Loc& loc);

}  // namespace qc
