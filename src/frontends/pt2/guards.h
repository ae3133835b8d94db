// Guards of an exported program: Python comparisons of input sizes that tracing took for granted.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace qc::pt2 {

/// The guards that compare integer expressions over sizes of the graph's inputs, with those sizes
/// as the graph's dims. Guards over anything else (attributes, floats, types) are left out.
std::vector<DimGuard> read_guards(const std::vector<std::string>& texts, const Graph& graph);

}  // namespace qc::pt2
