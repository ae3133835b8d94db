// The parts of a CUDA project.
#pragma once

#include "backends/common/backend.h"
#include "backends/common/text.h"

namespace qc::cuda {

std::string header_text(const Project& project);
std::string source_text(const Project& project);
/// Kernels that a run launches, of two branches the one with more.
int64_t launches(const Steps& steps);
/// The compute capability that a target's code needs: 80 for sm_80; 0 for all.
int capability(const Target& target);
/// Bytes of weights on the device; of several parts the most.
int64_t device_weight_bytes(const Module& module);
std::string makefile_text(const Project& project);
std::string cmake_text(const Project& project);
Result<Ok> write_test(const Project& project, FileSet& files);

}  // namespace qc::cuda
