// Guards of an exported program: Python comparisons of input sizes that tracing took for granted.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace qc::pt2 {

struct Guards {
  /// Those that compare integer expressions over sizes of the graph's inputs, with those sizes as
  /// the graph's dims.
  std::vector<DimGuard> checked;
  /// The texts of all others: attributes, floats, types.
  std::vector<std::string> left_out;
};
Guards read_guards(const std::vector<std::string>& texts, const Graph& graph);

}  // namespace qc::pt2
