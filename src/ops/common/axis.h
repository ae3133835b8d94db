// One axis of a row-major value, with what lies before and after it.
#pragma once

#include "ops/common/strided.h"

namespace qc {

/// A value seen as [outer, n, inner], with numbers or with sizes that may be free.
template <class Size>
struct BasicAxisView {
  Size outer = 1, n = 1, inner = 1;

  BasicAxisView(const std::vector<Size>& shape, int64_t axis) {
    for (int64_t i = 0; i < std::ssize(shape); ++i) {
      Size& part = i < axis ? outer : i == axis ? n : inner;
      part = part * shape[static_cast<size_t>(i)];
    }
  }
  /// Calls `visit(start)` with the element offset of every row; its elements are `inner` apart.
  template <class F>
  void for_each_row(F&& visit) const {
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) visit(o * n * inner + i);
    }
  }
};
using AxisView = BasicAxisView<int64_t>;
using AxisDims = BasicAxisView<Dim>;

}  // namespace qc
