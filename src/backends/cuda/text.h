// The parts of a CUDA project.
#pragma once

#include "backends/common/text.h"
#include "backends/common/weights.h"

namespace qc::cuda {

std::string header_text(const Program& program, const Module& module, const ProjectOptions& options,
                        const ProjectReport& report, uint64_t hash);
std::string source_text(const Program& program, const ProjectOptions& options,
                        const WeightMap& weights);
/// Kernels that a run launches.
int64_t launches(const Program& program);
std::string makefile_text(const Target& target, const ProjectOptions& options);
Result<Ok> write_test(const Program& program, const ProjectOptions& options, const Vectors* vectors,
                      FileSet& files);

}  // namespace qc::cuda
