// Remarks of passes for -v.
#pragma once

#include <fmt/core.h>

#include "passes/pipeline.h"
#include "support/counted.h"

namespace qc {

/// "conv 'layer1.0'", for remarks.
inline std::string label(const Node& node) {
  const auto& names = node.loc().names;
  return fmt::format("{} '{}'", node.op(), names.empty() ? "" : names[0]);
}

/// Notes that `node` was not fused into its neighbour `host`, and why.
inline void remark_not_fused(PassContext& context, const char* pass, const Node& node,
                             const Node& host, const char* reason) {
  context.remarks.push_back(
      fmt::format("{}: {} stays beside {}: {}", pass, label(node), label(host), reason));
}

/// Notes how many nodes a pass fused into their neighbours.
inline void remark_count(PassContext& context, const char* pass, size_t count) {
  if (count > 0)
    context.remarks.push_back(fmt::format("{}: {} fused", pass, counted(count, "node")));
}

}  // namespace qc
