// What the evaluations of a convolution of codes share: sizes, zero points, how accumulators become
// results.
#pragma once

#include "ops/common/weighted.h"
#include "ops/conv/qconv.h"
#include "ops/conv/reference.h"

namespace qc {

class CodeConv : public ConvSizes {
 public:
  CodeConv(const QConv& node, EvalContext& c);
  int64_t x_zero;
  int64_t w_zero(int64_t channel) const { return w_.zero_at(channel % w_.scale.values.size()); }
  /// Element `at` of the result, from the sum of its products.
  void put(Tensor& y, int64_t at, int64_t sum) const;

 private:
  const Format& w_;
  AccumulatorOutput output_;
  const Tensor* bias_;  // of the accumulators; a float one is part of the output
  float x_scale_;
};

}  // namespace qc
