// What importing a .pt2 graph keeps track of: the tensors defined so far, by the file's names.
#pragma once

#include <string>
#include <unordered_map>

#include "frontends/pt2/functionalise.h"
#include "frontends/pt2/plan.h"
#include "frontends/pt2/symbols.h"

namespace qc::pt2 {

struct Context {
  const Plan& plan;
  const Bindings& bindings;
  Graph& graph;
  Graph& model;
  Symbols symbols;
  Memory memory;
  std::unordered_map<std::string, CellId> cells;

  /// `g` takes the nodes: the graph `m` of the whole model, or a region of it.
  Context(const Plan& p, Graph& g, Graph& m, const Bindings& b)
      : plan(p), bindings(b), graph(g), model(m), symbols(p.flat, b), memory(g, m, symbols) {}

  /// The type the file states for a tensor.
  Result<Type> type_of(const std::string& name, const Loc& loc) const;
  /// What the file says of a tensor; null when it says nothing.
  const TensorMeta* meta_of(const std::string& name) const;
  /// Gives a cell its name; each name is defined once.
  Result<Ok> define(const std::string& name, CellId cell, const Loc& loc);
  /// The contents of a tensor as of now.
  Result<Value*> read(const std::string& name, const Loc& loc);
  /// Imports every live node; inputs must be defined.
  Result<Ok> import_nodes();
};

/// The argument in neutral form; nothing for those that say nothing here (device, layout).
Result<std::optional<Arg>> convert(Context& context, const Argument& arg, const Loc& loc);

/// Imports one live node.
Result<Ok> import_node(Context& context, const FlatNode& flat, const Loc& loc);

/// Imports a higher-order op as a node with regions and returns its results.
Result<Values> import_control_flow(Context& context, const ExportedNode& node, const Loc& loc);

}  // namespace qc::pt2
