// Limits on sizes that depend on free dimensions, and what a user can do about them.
#pragma once

#include <set>
#include <string>

#include "ir/dim.h"
#include "support/result.h"

namespace qc {

/// The sizes at which a number that depends on `symbols` is largest, and what makes it smaller:
/// nothing where it depends on none.
struct Largest {
  std::string at, advice;
};
Largest largest_sizes(const std::set<std::string>& symbols, const SymbolBounds& free);

/// `size` as a kernel parameter; an error, which names no place, where it may be beyond 32 bits.
Result<Dim> as_param(const Dim& size, const SymbolBounds& free);

}  // namespace qc
