// Padding along the axes that windows of convolutions and pools move over.
#pragma once

#include "ir/attr.h"
#include "ir/padding.h"

namespace qc {

/// Says what of a result [n, c, ...] is padding where windows move over the axes from 2 on. Windows
/// of results that are meant take elements before the padding, and where `pads` let them
/// reach beyond the last element, padding: `border(axis)` makes that what the op has outside. It
/// is called for all padded axes where `beyond` says that windows depend on how many elements are.
template <class Border>
Result<Ok> pad_windows(PaddedNode& c, const Ints& pads, bool beyond, Border&& border) {
  Padding to = c.padding(0);
  const size_t axes = to.size() - 2;
  for (size_t i = 0; i < axes; ++i) {
    const int64_t axis = static_cast<int64_t>(i) + 2;
    if (!c.is_padded(0, axis)) continue;
    if (c.parts(0, axis).size() != 1) return c.refuse("padding lies between elements of a window");
    if (beyond || pads[axes + i] > 0) QC_TRY(border(axis));
    const Dim& size = c.result_shape()[i + 2];
    to[i + 2] = c.dim().in(size) ? AxisSegments{{size, true}} : AxisSegments{};
  }
  c.set_result(std::move(to));
  return Ok{};
}

/// The same of a convolution: channels are not padded, nor are other operands.
template <class Border>
Result<Ok> pad_convolution(PaddedNode& c, const Ints& pads, Border&& border) {
  for (size_t i = 1; i < c.operands().size(); ++i) {
    if (c.operands()[i] && c.is_padded(i)) return c.refuse("its weights are padded");
  }
  if (c.is_padded(0, 1)) return c.refuse("it mixes elements along it");
  return pad_windows(c, pads, false, border);
}

}  // namespace qc
