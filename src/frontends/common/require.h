// Relations of sizes that a model takes for granted, checked where sizes are bound.
#pragma once

#include <algorithm>

#include "ir/graph.h"

namespace qc {

/// Adds a relation to those that must hold, unless it is known to. False when it never holds.
inline bool require(Graph& graph, const DimGuard& guard) {
  if (guard.op == DimGuard::Op::eq && guard.left == guard.right) return true;
  if (const auto known = guard.holds()) return *known;
  const std::string text = guard.str();
  const bool there = std::any_of(graph.guards.begin(), graph.guards.end(),
                                 [&](const DimGuard& g) { return g.str() == text; });
  if (!there) graph.guards.push_back(guard);
  return true;
}

}  // namespace qc
