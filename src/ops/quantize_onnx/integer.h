// Integer products of ONNX models written out exactly: sums in i32 (f64 for convolutions, which
// holds every sum), rounded once. For integer results, and for what has no quantized node: scales
// or weights computed at run time.
#pragma once

#include "frontends/common/foreign.h"

namespace qc::onnx_codes {

Result<Values> matmul_integer(Import& m);
Result<Values> conv_integer(Import& m);
Result<Values> exact_qlinear_matmul(Import& m);
Result<Values> exact_qlinear_conv(Import& m);
Result<Values> exact_qgemm(Import& m);
Result<Values> exact_matmul_to_float(Import& m);

}  // namespace qc::onnx_codes
