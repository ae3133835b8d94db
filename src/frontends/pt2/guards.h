// Guards of an exported program: Python comparisons of input sizes that tracing took for granted.
#pragma once

#include <string>
#include <vector>

#include "frontends/common/options.h"
#include "ir/graph.h"

namespace qc::pt2 {

/// Adds the guards that compare integer expressions over sizes of the graph's inputs
/// ("L['x'].size()[1] >= 2"), as relations of the graph's dims, and refuses sizes that are bound
/// and break one. All others (attributes, floats, types) are remarked.
Result<Ok> add_guards(const std::vector<std::string>& texts, Graph& graph,
                      const ImportOptions& options);

}  // namespace qc::pt2
