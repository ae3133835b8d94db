// Tensors of an imperative graph as pure values. A cell stands for one tensor of the model: either
// memory of its own, or a view of another cell. Reading gives the value as of now; writing a view
// writes its base, and every other view of that base is computed anew when it is next read.
#pragma once

#include <cstdint>
#include <vector>

#include "frontends/common/foreign.h"
#include "frontends/pt2/views.h"

namespace qc::pt2 {

using CellId = uint32_t;

/// How a view was made, so that it can be made again from a newer base.
struct ViewRecipe {
  const ViewOp* view = nullptr;
  const ImportRow* row = nullptr;  // null for identity views
  ForeignNode node;                // argument `self_arg` holds the base's value
  size_t self_arg = 0;
  size_t output = 0;
  Dim start;  // parts: where this part begins along `dim`
};

class Memory {
 public:
  explicit Memory(Graph& graph) : graph_(graph) {}

  /// Fresh memory with these contents.
  CellId allocate(Value* value);
  /// A view of `base` whose present contents are `value`.
  CellId view(CellId base, ViewRecipe recipe, Value* value);

  Result<Value*> read(CellId cell);
  /// Makes `value` (of the cell's type) the contents, seen through every alias.
  Result<Ok> write(CellId cell, Value* value);
  CellId root(CellId cell) const { return cells_[cell].root; }

 private:
  struct Cell {
    Value* value;
    CellId root;
    CellId base;       // itself for fresh memory
    uint64_t version;  // of a root: number of writes; of a view: the root's when last computed
    uint32_t recipe;   // index into recipes_
  };

  Result<Value*> apply(const ViewRecipe& recipe, Value* base);
  Result<Value*> write_back(const ViewRecipe& recipe, Value* base, Value* part);

  Graph& graph_;
  std::vector<Cell> cells_;
  std::vector<ViewRecipe> recipes_;
};

using NamedArgs = std::vector<std::pair<std::string, Arg>>;

/// Runs the import row of an ATen op with these arguments and returns its first result; an op
/// without row is unsupported.
Result<Value*> call_aten(Graph& graph, std::string_view op, NamedArgs args, const Loc& loc);

}  // namespace qc::pt2
