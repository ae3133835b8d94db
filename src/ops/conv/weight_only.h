// Convolutions whose weights alone are codes.
#pragma once

#include "ops/common/weighted.h"
#include "ops/conv/qconv.h"

namespace qc {

/// f32 weights [oc, ic/groups, ...] that codes stand for.
Tensor decoded_weights(const Tensor& codes, const Type& type);
/// The convolution of f32 values with them, without limits.
void eval_conv(DotStep dot, const ConvWindow& window, const Tensor& x, const Tensor& w,
               const Tensor* bias, Tensor& y);
/// As `eval_conv` by faster loops.
void eval_conv_fast(DotStep dot, const ConvWindow& window, const Tensor& x, const Tensor& w,
                    const Tensor* bias, Tensor& y);
/// The same of the transposed one; w [ic, oc/groups, ...].
void eval_conv_transpose(DotStep dot, const ConvWindow& window, const Tensor& x, const Tensor& w,
                         const Tensor* bias, Tensor& y);
Result<Ok> lower_weight_only(Lowering& l, const QConv& node);

}  // namespace qc
