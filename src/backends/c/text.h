// The parts of a C project.
#pragma once

#include <string>

#include "backends/c/c_backend.h"
#include "backends/common/text.h"

namespace qc {

/// The last parameters of runs that take a parallel_for; empty for others.
std::string threads_parameters(const COptions& options);

std::string header_text(const Module& module, const COptions& options, const CReport& report,
                        uint64_t weight_hash);
struct WeightMap;
/// NAME.c: the functions a caller sees, and the steps where the module has one part.
/// A source file, and how many entries its table of sizes has.
struct SourceText {
  std::string text;
  size_t entries = 0;
};
SourceText source_text(const Module& module, const COptions& options, const WeightMap& weights);
/// The steps of one of several parts, a file of its own.
SourceText program_text(const Module::TargetProgram& compiled, const COptions& options,
                        const WeightMap& weights);
/// What the names of a part's files and functions begin with, where there are several.
std::string program_stem(const COptions& options, const Target& target);
std::string makefile_text(const Module& module, const COptions& options);
std::string cmake_text(const Module& module, const COptions& options);
Result<Ok> write_test(const Module& module, const COptions& options, const Vectors* vectors,
                      FileSet& files);

}  // namespace qc
