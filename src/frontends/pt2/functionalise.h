// Tensors of an imperative graph as pure values. A cell stands for one tensor of the model: either
// memory of its own, or a view of another cell. Reading gives the value as of now; writing a view
// writes its base, and every other view of that base is computed anew when it is next read.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "frontends/common/foreign.h"
#include "frontends/pt2/symbols.h"
#include "frontends/pt2/views.h"

namespace qc::pt2 {

using CellId = uint32_t;

/// How a view was made, so that it can be made again from a newer base.
struct ViewRecipe {
  const ViewOp* view = nullptr;
  const ImportRow* row = nullptr;  // null for identity views
  ForeignNode node;                // argument `self_arg` holds the base's value, or a list with it
  size_t self_arg = 0;
  size_t self_index = 0;  // where in that list
  size_t output = 0;
  Dim start;  // parts: where this part begins along `dim`
};

class Memory {
 public:
  /// `model` is the whole model's graph, of which `graph` may be a region: it states ranges of
  /// sizes and takes guards.
  Memory(Graph& graph, Graph& model, const Symbols& symbols)
      : graph_(graph), model_(model), symbols_(symbols) {}

  /// Fresh memory with these contents; `meta` says how it lies in its storage.
  CellId allocate(Value* value, const TensorMeta* meta);
  /// A view of `base` whose present contents are `value`.
  CellId view(CellId base, ViewRecipe recipe, Value* value, const TensorMeta* meta);
  /// Two tensors share no memory as long as `facts` hold: should one be read after a write to the
  /// other, the model is right for such sizes alone.
  void keep_apart(CellId a, CellId b, const SizeFacts& facts, const Loc& loc);
  /// The model is right for such sizes alone.
  Result<Ok> require(const SizeFacts& facts, const Loc& loc);

  Result<Value*> read(CellId cell);
  /// Makes `value` (of the cell's type) the contents, seen through every alias.
  Result<Ok> write(CellId cell, Value* value, const Loc& loc);

  /// How the tensor lies in its storage.
  Result<Layout> layout(CellId cell, const Loc& loc) const;
  Result<Layout> layout(const TensorMeta& meta, const Loc& loc) const;
  const TensorMeta* meta(CellId cell) const { return cells_[cell].meta; }
  /// The contents of the tensor's whole storage as one axis, and the place of its first element.
  struct Storage {
    Value* elements;
    Dim first;
  };
  Result<Storage> storage(CellId cell, const Loc& loc);
  /// A tensor like the one that owns the storage of `cell`, with these storage contents.
  Result<Value*> owner_of(Value* elements, CellId cell, const Loc& loc);
  /// Whether the tensor owns its storage: it is a view of no other.
  bool owns_storage(CellId cell) const { return cells_[cell].root == cell; }

 private:
  struct Cell {
    Value* value;
    const TensorMeta* meta;
    CellId root;
    CellId base;       // itself for fresh memory
    uint64_t version;  // of a root: number of writes; of a view: the root's when last computed
    uint32_t recipe;   // index into recipes_
  };
  /// Two roots that are separate only for some sizes.
  struct Doubt {
    CellId a, b;
    SizeFacts facts;
    Loc loc;
  };

  /// A root was written: tensors that may share its memory are suspect.
  void suspect_others(CellId root);
  Result<Ok> settle(CellId root);
  Result<Value*> apply(const Cell& cell);
  Result<Value*> write_back(const ViewRecipe& recipe, Value* base, Value* part);
  /// Whether two elements of the tensor may be one in memory.
  Result<bool> may_overlap(CellId cell, const Loc& loc) const;
  Result<Value*> write_strided(CellId cell, Value* part, const Loc& loc);

  Graph& graph_;
  Graph& model_;
  const Symbols& symbols_;
  std::vector<Cell> cells_;
  std::vector<ViewRecipe> recipes_;
  std::vector<Doubt> doubts_;
  std::unordered_map<CellId, std::vector<uint32_t>> doubts_of_;  // roots and their doubts
  std::unordered_map<CellId, std::vector<uint32_t>>
      suspects_;  // what their next reader must settle
};

using NamedArgs = std::vector<std::pair<std::string, Arg>>;

/// Runs the import row of an ATen op with these arguments and returns its first result; an op
/// without row is unsupported.
Result<Value*> call_aten(Graph& graph, std::string_view op, NamedArgs args, const Loc& loc);

}  // namespace qc::pt2
