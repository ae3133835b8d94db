#pragma once

#include <cstdint>

#include "kernels/numerics/chain.h"

namespace qc {

/// A sum of floats that takes one element after the other: chains of chains, as
/// kernels/numerics/chain.h defines them.
template <class T>
class Chain {
 public:
  /// Takes an element: `step` gives the lowest chain with it.
  template <class Step>
  void take(Step step) {
    low_ = step(low_);
    if (++count_ % QN_CHAIN != 0) return;
    full(above_, count_, low_);
    low_ = 0;
  }
  void add(T v) {
    take([v](T low) { return low + v; });
  }
  T sum() const { return sum(above_, count_, low_); }

 private:
  static void full(float* above, int64_t n, float low) { qn_chain_full_f32(above, n, low); }
  static void full(double* above, int64_t n, double low) { qn_chain_full_f64(above, n, low); }
  static float sum(const float* above, int64_t n, float low) {
    return qn_chain_sum_f32(above, n, low);
  }
  static double sum(const double* above, int64_t n, double low) {
    return qn_chain_sum_f64(above, n, low);
  }

  T low_ = 0, above_[QN_CHAINS] = {};
  int64_t count_ = 0;
};

}  // namespace qc
