// Which scale an element of a quantized value has.
#pragma once

#include "ir/type.h"

namespace qc {

/// Elements of a quantized value, row-major, with the index of their scale.
class Groups {
 public:
  explicit Groups(const Type& type) {
    const Format& f = *type.format;
    const Ints dims = static_dims(type.shape);
    if (f.granularity == Granularity::tensor) {
      for (int64_t d : dims) inner_ *= d;
      return;
    }
    for (size_t i = 0; i < dims.size(); ++i) {
      const int64_t at = static_cast<int64_t>(i);
      (at < f.axis ? outer_ : at == f.axis ? axis_ : inner_) *= dims[i];
    }
    if (f.granularity == Granularity::axis) {
      s_axis_ = 1;
    } else {
      group_ = f.group;
      s_inner_ = 1;
      s_axis_ = inner_;
      s_outer_ = (axis_ + group_ - 1) / group_ * inner_;
    }
  }

  /// Calls `visit(element, scale)`.
  template <class F>
  void for_each(F&& visit) const {
    int64_t i = 0;
    for (int64_t o = 0; o < outer_; ++o) {
      for (int64_t a = 0; a < axis_; ++a) {
        for (int64_t k = 0; k < inner_; ++k) {
          visit(i++, o * s_outer_ + a / group_ * s_axis_ + k * s_inner_);
        }
      }
    }
  }

 private:
  int64_t outer_ = 1, axis_ = 1, inner_ = 1;
  int64_t group_ = 1, s_outer_ = 0, s_axis_ = 0, s_inner_ = 0;
};

}  // namespace qc
