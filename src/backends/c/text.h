// Pieces of C text shared by the printer's parts.
#pragma once

#include <string>

#include "backends/c/c_backend.h"
#include "ir/dtype.h"
#include "support/escape.h"

namespace qc {

/// C type of one element: "float", "int8_t"; 16-bit floats are uint16_t, 8-bit ones uint8_t.
std::string_view c_type(DType dtype);
/// A float that C reads back to the same bits: "0x1.8p+1f", "INFINITY".
std::string c_float(float value);
/// Name in upper case, for macros.
std::string c_upper(std::string_view name);

/// The kernels that a part calls, as one header without includes of other quantc files.
std::string kernels_text(const Module::Part& part, const COptions& options);
std::string header_text(const Module& module, const COptions& options, const CReport& report,
                        uint64_t weight_hash);
struct WeightMap;
/// NAME.c: the functions a caller sees, and the steps where the module has one part.
std::string source_text(const Module& module, const COptions& options, const WeightMap& weights);
/// The steps of one of several parts, a file of its own.
std::string part_text(const Module::Part& part, const COptions& options, const WeightMap& weights);
/// What the names of a part's files and functions begin with, where there are several.
std::string part_stem(const COptions& options, const Target& target);
std::string makefile_text(const Module& module, const COptions& options);
std::string cmake_text(const Module& module, const COptions& options);
Result<Ok> write_test(const Module& module, const COptions& options, const Vectors* vectors,
                      FileSet& files);

}  // namespace qc
