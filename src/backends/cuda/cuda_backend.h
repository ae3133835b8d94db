// The CUDA backend: a Program on a device to a folder of CUDA C++ with a C interface.
#pragma once

#include "backends/common/backend.h"

namespace qc {

/// Writes NAME.h, NAME.cu, NAME_kernels.h, NAME_weights.*, NAME_test.c and a Makefile. State,
/// control flow, free dimensions and weights in a file of their own are not supported yet.
const Backend& cuda_backend();

}  // namespace qc
