// Symbolic sizes as torch.export writes them.
#pragma once

#include <string_view>

#include "ir/dim.h"

namespace qc::pt2 {

/// Parses sympy's srepr text (`Add(Symbol('s15', positive=True, integer=True), Integer(1))`) or the
/// infix text of older files (`s15 + 1`). What is not an integer expression is refused.
Result<Dim> parse_symexpr(std::string_view text, const Loc& loc);

}  // namespace qc::pt2
