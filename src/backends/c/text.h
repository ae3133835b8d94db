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

/// The kernels the program calls, as one header without includes of other quantc files.
std::string kernels_text(const Programs& programs, const COptions& options);
std::string header_text(const Programs& programs, const COptions& options, const CReport& report,
                        uint64_t weight_hash);
struct WeightMap;
std::string source_text(const Programs& programs, const COptions& options,
                        const WeightMap& weights);
std::string makefile_text(const COptions& options);
std::string cmake_text(const COptions& options);
Result<Ok> write_test(const Programs& programs, const COptions& options, const Vectors* vectors,
                      FileSet& files);

}  // namespace qc
