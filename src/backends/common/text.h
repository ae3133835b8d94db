// Fragments of C text that the printers share.
#pragma once

#include <span>
#include <string>

#include "backends/common/project.h"
#include "ir/dtype.h"
#include "support/escape.h"

namespace qc {

/// C type of one element: "float", "int8_t"; 16-bit floats are uint16_t, 8-bit ones uint8_t.
std::string_view c_type(DType dtype);
/// A float that C reads back to the same bits: "0x1.8p+1f", "INFINITY".
std::string c_float(float value);
/// An integer that C reads as what it is.
std::string c_integer(int64_t value);
/// Name in upper case, for macros.
std::string c_upper(std::string_view name);

/// Comments on what was chosen that changes answers: passes left out, how float dot products are
/// summed. Empty where nothing was.
std::string choices_text(const Program& program, const ProjectOptions& options);
/// The macros that describe the inputs and outputs of a model.
std::string ports_text(const Program& program, const ProjectOptions& options);
/// The macros of the dimensions that each run chooses sizes of.
std::string dims_text(const Program& program, const ProjectOptions& options);
/// The kernels that parts call, as one header without includes of other quantc files, after the
/// embedded headers that are named.
std::string kernels_text(std::span<const Module::TargetProgram> programs,
                         const ProjectOptions& options,
                         std::span<const std::string_view> headers = {});
/// `name`, an array of rows of bytes, all those of the tensor.
Result<Ok> write_array(FileSet& files, const std::string& name, const Tensor& t);

}  // namespace qc
