// What Python computes beside tensors: sizes, items of lists, attributes.
#pragma once

#include <optional>
#include <string_view>

#include "frontends/fx/scope.h"

namespace qc::fx {

/// Arithmetic on sizes and numbers, and what Python's own functions and attributes of tensors give;
/// nothing where the call is one of tensors.
Result<std::optional<Thing>> plain_python(Scope& scope, const DumpNode& node, const Things& args,
                                          const Loc& loc);

/// Whether plain_python, or FunctionCalls itself, takes a function or method of this plain spelling
/// with some arguments.
bool known_to_python(std::string_view spelling);

}  // namespace qc::fx
