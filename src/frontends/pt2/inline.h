// Flattens an exported program: bodies of wrapper ops (no_grad, autocast) take the place of the
// wrapper, with names made unique, so that what follows sees one list of nodes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "frontends/pt2/program.h"

namespace qc::pt2 {

struct FlatNode {
  ExportedNode node;
  /// The autocast type in force; 0 outside of autocast.
  ScalarType autocast = 0;
};

struct FlatGraph {
  std::vector<FlatNode> nodes;
  std::vector<Argument> outputs;
  std::map<std::string, TensorMeta, std::less<>> tensors;
  std::map<std::string, SymInt, std::less<>> sym_ints, sym_floats, sym_bools;
};

/// Whether the higher-order op only wraps its body.
bool is_wrapper(std::string_view target);

/// The graph with wrappers inlined; `loc` names the file in messages.
Result<FlatGraph> flatten(const ExportedGraph& graph, const Loc& loc);

}  // namespace qc::pt2
