// A look at TOML text before it is parsed: the parser and the tables it makes are recursive, so the
// depth of what a file may ask for is bounded here.
#pragma once

#include <string_view>

#include "support/result.h"

namespace qc {

/// An error when a key has more than 32 dotted parts, lists and tables stand more than 32 deep in
/// each other, or where the parser would stop the program: a table header without a name, a brace
/// in a list. Says nothing else about text that is no TOML.
Result<Ok> check_toml_depth(std::string_view text, const Loc& loc);

}  // namespace qc
