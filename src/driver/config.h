// quantc.toml: the options of a compilation as a file.
#pragma once

#include <string>

#include "quantc/options.h"
#include "support/result.h"

namespace qc {

/// Reads the file; unknown keys and values of the wrong kind are errors naming the line.
Result<quantc::Options> read_config(const std::string& path);

}  // namespace qc
