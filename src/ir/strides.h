// Strides of values whose elements lie one after another.
#pragma once

#include "ir/dim.h"

namespace qc {

/// Elements between neighbours along each axis, in row-major order.
inline Dims dense_strides(const Dims& shape) {
  Dims out(shape.size());
  Dim stride(1);
  for (size_t i = shape.size(); i-- > 0;) {
    out[i] = stride;
    stride = stride * shape[i];
  }
  return out;
}

}  // namespace qc
