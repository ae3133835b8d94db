// Integer products of ONNX models whose accumulators are results, or are rescaled by numbers known
// at run time only: one node on codes that gives the accumulators as i32 where zero points are
// known and weights of convolutions constant, else written out exactly (in f64 for convolutions,
// which holds every sum).
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
