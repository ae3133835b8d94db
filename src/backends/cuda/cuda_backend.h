// The CUDA backend: a Program on a device to a folder of CUDA C++ with a C interface.
#pragma once

#include "backends/common/project.h"

namespace qc {

/// Writes NAME.h, NAME.cu, NAME_kernels.h, NAME_weights.*, NAME_test.c and a Makefile. The same
/// module and options give the same bytes, always. State, control flow, free dimensions and weights
/// in a file of their own are not supported yet.
Result<ProjectReport> write_cuda(const Module& module, const ProjectOptions& options,
                                 const Vectors* vectors, FileSet& files);

}  // namespace qc
