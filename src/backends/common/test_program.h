// Fragments of test programs: recorded arrays, what the model is handed, what is compared.
#pragma once

#include <string>

#include "backends/common/project.h"

namespace qc {

/// "input_0, input_1"; "NULL" where there are none.
std::string numbered(const char* name, size_t count);
/// Writes the arrays input_i and expected_i.
Result<Ok> write_recorded(FileSet& files, const Vectors& vectors);
/// The arrays NAME_i ("input", "output") of as many bytes as the header's macros say.
std::string arrays_text(const ProjectOptions& options, const char* name, size_t count);
/// Statements that set `different` where a recorded output is another; `sized`: by as many bytes as
/// were recorded, not as the header says.
std::string compare_text(const ProjectOptions& options, const Vectors& vectors, bool sized);

}  // namespace qc
