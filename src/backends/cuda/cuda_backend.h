// The CUDA backend: a Program on a device to a folder of CUDA C++ with a C interface.
#pragma once

#include "backends/common/backend.h"

namespace qc {

/// Writes NAME.h, NAME.cu, NAME_kernels.h, NAME_weights.*, NAME_test.c, Makefile and
/// CMakeLists.txt. A module's parts are in one file, each for GPUs from a generation on; a handle
/// takes the first that its GPU can run. State, and control flow that memory decides, are not
/// supported.
const Backend& cuda_backend();

}  // namespace qc
