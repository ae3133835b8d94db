// quantc.toml: the options of a compilation as a file.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "quantc/options.h"
#include "support/result.h"

namespace qc {

/// Reads the file; unknown keys and values of the wrong kind are errors naming the line.
Result<quantc::Options> read_config(const std::string& path);

/// "3" or "1..512"; nullopt for anything else.
std::optional<quantc::SizeRange> read_sizes(std::string_view text);
/// Binds the dimension to a number, or leaves it free in a range of several.
void set_sizes(quantc::Options& options, const std::string& name, const quantc::SizeRange& sizes);

}  // namespace qc
