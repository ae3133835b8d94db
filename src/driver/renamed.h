// Words of the release before that options still take, with a warning.
#pragma once

#include <string>
#include <vector>

#include "quantc/options.h"

namespace qc {

/// Replaces a pass's earlier name by its own; `warnings` says what to write now.
void use_current_pass(std::string& name, std::vector<std::string>& warnings);
/// The same for all options that name passes.
quantc::Options with_current_names(quantc::Options options, std::vector<std::string>& warnings);

}  // namespace qc
