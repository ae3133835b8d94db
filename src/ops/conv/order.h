// Convolutions whose sums have another order than the standard one.
#pragma once

#include "ops/conv/conv.h"

namespace qc {

/// Whether ONNX Runtime on x86, under the arithmetic's `signed=f32`, forms no integer node of this
/// convolution between codes of 8 bits: it does so only of unsigned operands and results, and where
/// the range of the codes implies the clamp.
bool stays_float_in_onnxruntime(const Conv& conv, const Quantizer& q);
/// The order in which it then sums, with one thread; the standard one where that is not known.
SumOrder onnxruntime_order(const Conv& conv);

void eval_ordered(DotStep dot, const Conv& conv, const Tensor& x, const Tensor& w,
                  const Tensor* bias, Tensor& y);
Result<Ok> lower_ordered(Lowering& l, const Conv& conv);

}  // namespace qc
