// What importing a .pt2 graph keeps track of: the tensors defined so far, by the file's names.
#pragma once

#include <string>
#include <unordered_map>

#include "frontends/pt2/functionalise.h"
#include "frontends/pt2/inline.h"
#include "frontends/pt2/liveness.h"
#include "frontends/pt2/symbols.h"

namespace qc::pt2 {

struct Context {
  const FlatGraph& flat;
  const Liveness& liveness;
  Graph& graph;
  Symbols symbols;
  Memory memory;
  std::unordered_map<std::string, CellId> cells;

  Context(const FlatGraph& f, const Liveness& l, Graph& g, const Bindings& bindings)
      : flat(f), liveness(l), graph(g), symbols(f, bindings), memory(g) {}

  /// The type the file states for a tensor.
  Result<Type> type_of(const std::string& name, const Loc& loc) const;
  /// Gives a cell its name; each name is defined once.
  Result<Ok> define(const std::string& name, CellId cell, const Loc& loc);
  /// The contents of a tensor as of now.
  Result<Value*> read(const std::string& name, const Loc& loc);
};

/// Whether an in-place op needs no import row: copy_, fill_, zero_.
bool is_fill(std::string_view op);

/// Imports one live node.
Result<Ok> import_node(Context& context, const FlatNode& flat, const Loc& loc);

}  // namespace qc::pt2
