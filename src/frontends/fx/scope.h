// The state of an import: names, memory, and calls of import rows.
#pragma once

#include <map>
#include <string>

#include "frontends/fx/dump.h"
#include "frontends/fx/safetensors.h"
#include "frontends/fx/things.h"

namespace qc::fx {

using NamedThings = std::vector<std::pair<std::string, Thing>>;

/// What a call returns.
struct Returned {
  bool list = false;        // even where it has one item
  std::vector<bool> items;  // which of them are read; empty: all may be
};

class Scope {
 public:
  Scope(Graph& graph, TensorMap tensors) : graph_(graph), tensors_(std::move(tensors)) {}

  Graph& graph() { return graph_; }
  Memory& memory() { return memory_; }

  Result<Ok> define(const std::string& name, Thing thing, const Loc& loc);
  Result<Thing> thing(const Item& item, const Loc& loc) const;
  Result<Value*> tensor(const Thing& thing, const Loc& loc) const;
  /// A parameter or buffer; null where there is none of this name.
  Result<Value*> weight(const std::string& name);

  /// Calls the row of an ATen op, or of another package: "quantized_decomposed::OP". The result is
  /// a tensor, or a list where the op returns one.
  Result<Thing> call(const std::string& target, const NamedThings& args, const Returned& returned,
                     const Loc& loc);
  /// The same in place: what the first tensor of the arguments held is replaced.
  Result<Thing> call_in_place(const std::string& target, const NamedThings& args, const Loc& loc);

 private:
  Result<Values> run_row(const std::string& target, const NamedThings& args,
                         const Returned& returned, const Loc& loc);
  Result<Arg> argument(const Thing& thing, const Loc& loc) const;
  Result<Arg> list_argument(const Things& things, const Loc& loc) const;

  Graph& graph_;
  TensorMap tensors_;
  std::map<std::string, ConstId> loaded_;
  Memory memory_;
  std::map<std::string, Thing, std::less<>> names_;
};

}  // namespace qc::fx
