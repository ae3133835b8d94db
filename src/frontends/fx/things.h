// What names of an FX graph stand for while it is imported: tensors in memory that in-place
// operations write, numbers, and lists of them.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "frontends/common/foreign.h"

namespace qc::fx {

/// A tensor in memory.
using CellId = size_t;

struct Thing;
using Things = std::vector<Thing>;
struct Ellipsis {};
/// A device, a layout: it does not matter.
struct Ignored {};
struct Slice;

struct Thing {
  std::variant<std::monostate, CellId, Dim, double, bool, std::string, DType, Things, Ellipsis,
               Ignored, std::shared_ptr<const Slice>>
      is;

  template <class T>
  const T* as() const {
    return std::get_if<T>(&is);
  }
  bool none() const { return is.index() == 0; }
};

struct Slice {
  Thing begin, end, step;
};

/// Memory that may be written in place. What is written through one name is seen through those of
/// the same memory; a view whose base was written, or the other way round, cannot be read anymore:
/// that is refused, for nothing here knows how they lie.
class Memory {
 public:
  CellId allocate(Value* value) {
    cells_.push_back({value, cells_.size(), 0});
    versions_.push_back(0);
    return cells_.size() - 1;
  }
  CellId view(CellId base, Value* value) {
    const CellId root = cells_[base].root;
    cells_.push_back({value, root, versions_[root]});
    versions_.push_back(0);
    return cells_.size() - 1;
  }
  Result<Value*> read(CellId cell, const Loc& loc) const {
    const Cell& c = cells_[cell];
    if (c.version != versions_[c.root]) {
      return error(Code::unsupported, loc,
                   "reads a tensor that an in-place operation wrote through a view of it");
    }
    return c.value;
  }
  void write(CellId cell, Value* value) {
    Cell& c = cells_[cell];
    c.value = value;
    c.version = ++versions_[c.root];
  }

 private:
  struct Cell {
    Value* value;
    CellId root;
    uint32_t version;  // of the root when it was made or written
  };
  std::vector<Cell> cells_;
  std::vector<uint32_t> versions_;  // by root
};

}  // namespace qc::fx
