// The names that users gave to dimensions (torch.export.Dim): torch.export.save leaves them out, a
// further file of the archive keeps them.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "frontends/pt2/program.h"

namespace qc::pt2 {

/// Where quantc.save_exported writes them: {"s77": "batch"}.
inline constexpr const char* kDimNamesFile = "quantc_dims.json";

/// Calls the symbols of the program by these names, which are parsed from JSON. Symbols of one name
/// are one dimension. A name that another symbol of the program has is refused.
Result<Ok> name_dims(std::string_view json, const Loc& loc, ExportedProgram& program);

}  // namespace qc::pt2
