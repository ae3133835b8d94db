// Options whose value is one of a few words: the words, and the check that a value is one of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace qc {

/// The words that this option may be, as quantc.toml spells its name ("weights", "io_dtype", ...);
/// none for options that have no such list.
std::vector<std::string> choices(std::string_view option);

/// An error that lists the words, and names the one that is near, when `value` is none of them.
/// `shown` is what the message calls the option.
Result<Ok> check_choice(std::string_view option, std::string_view value, std::string_view shown);

}  // namespace qc
