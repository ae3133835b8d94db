// Comparing results: how far two arrays are apart, and whether that is allowed.
#pragma once

#include <cstdint>
#include <string>

#include "ir/tensor.h"

namespace qc {

/// An element is close when |got - want| <= atol + rtol * |want|; NaN equals NaN.
struct Tolerance {
  double rtol = 0;
  double atol = 0;
};

struct Difference {
  bool same_type = true;   // element type and shape
  bool bits_equal = true;  // any NaN equals any: which one it is is not promised
  bool within = true;      // every element is close
  double max_abs = 0;      // over elements where both are finite
  double max_rel = 0;      // |got - want| / |want|, where want is not zero
  double sqnr_db = 0;      // signal to noise; infinite when equal
  double signal = 0;       // sums of squares, of elements where both are finite
  double noise = 0;
  double max_magnitude = 0;  // of the expected elements
  int64_t worst = -1;        // first element that is not close, or where max_abs is reached
  int64_t misses = 0;        // elements that are not close
};

Difference compare(const Tensor& got, const Tensor& want, const Tolerance& tolerance);

/// "f32[2, 3], expected i64[2]" or "element 5 is 1.5, expected 2 (3 of 8 elements differ)"; empty
/// when everything is within the tolerance.
std::string describe(const Difference& difference, const Tensor& got, const Tensor& want);

}  // namespace qc
