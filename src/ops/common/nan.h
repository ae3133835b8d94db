// Whether an element of any type is NaN.
#pragma once

#include <cmath>
#include <type_traits>

namespace qc {

template <class T>
bool is_nan(T v) {
  if constexpr (std::is_floating_point_v<T>)
    return std::isnan(v);
  else
    return false;
}

}  // namespace qc
