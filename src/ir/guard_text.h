// Relations and ranges of sizes in words, for messages and generated headers.
#pragma once

#include <string>

#include "ir/graph.h"

namespace qc {

/// "s0 is 2*s1", "batch is at least 2": a number comes last.
std::string words(const DimGuard& guard);
/// What is wrong with sizes that break the relation: it, and what its sides are for them.
std::string broken(const DimGuard& guard, const Bindings& sizes);
/// "2 to 9", "3 and more"; the step is not in it.
std::string words(const DimRange& range);

}  // namespace qc
