// The C backend: a Program to a folder of standalone C11. It walks the Program and knows no op.
#pragma once

#include "backends/common/backend.h"

namespace qc {

using COptions = ProjectOptions;
using CReport = ProjectReport;

/// Writes NAME.h, NAME.c, NAME_kernels.h, NAME_weights.*, NAME_test.c, Makefile and CMakeLists.txt;
/// of a module with several parts NAME_PART.c and NAME_PART_kernels.h for each.
const Backend& c_backend();
inline Result<CReport> write_c(const Module& module, const COptions& options,
                               const Vectors* vectors, FileSet& files) {
  return c_backend().write(module, options, vectors, files);
}

/// The C files that it writes besides that of the weights.
std::vector<std::string> c_sources(const Module& module, const COptions& options);

}  // namespace qc
