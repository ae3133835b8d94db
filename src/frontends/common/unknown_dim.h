// What is said of a size for a dimension that a model does not have.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "support/diag.h"
#include "support/suggest.h"

namespace qc {

/// `known` are the names of the model's symbolic dimensions, `shown` what the message calls them.
inline Diag unknown_dim(const Loc& loc, const std::string& name,
                        const std::vector<std::string>& known,
                        const std::vector<std::string>& shown) {
  if (known.empty()) {
    return error(Code::dim, loc,
                 "no dimension is named '{}': all sizes of the inputs are numbers, so leave out "
                 "--dim {}",
                 name, name);
  }
  return error(Code::dim, loc, "no dimension is named '{}'; the inputs have {}{}", name,
               fmt::join(shown, ", "), did_you_mean(name, known));
}

}  // namespace qc
