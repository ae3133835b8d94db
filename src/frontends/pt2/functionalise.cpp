#include "frontends/pt2/functionalise.h"

#include <algorithm>
#include <set>

#include "support/located.h"

namespace qc::pt2 {

Result<Value*> call_aten(Graph& graph, std::string_view op, NamedArgs args, const Loc& loc) {
  const ImportRow* row = import_table().find("aten", op, 0);
  if (row == nullptr) {
    return error(Code::unsupported_op, loc, "operation aten.{} is not supported", op);
  }
  ForeignNode node;
  node.domain = "aten";
  node.op = op;
  node.args = std::move(args);
  node.loc = loc;
  Import import(graph, node);
  QC_ASSIGN(Values values, located(row->import(import), loc));
  if (values.empty() || values[0] == nullptr) {
    return error(Code::bug, loc, "aten.{} gives no value", op);
  }
  return values[0];
}

CellId Memory::allocate(Value* value, const TensorMeta* meta) {
  CellId id = static_cast<CellId>(cells_.size());
  cells_.push_back({value, meta, id, id, 0, 0});
  return id;
}

CellId Memory::view(CellId base, ViewRecipe recipe, Value* value, const TensorMeta* meta) {
  CellId id = static_cast<CellId>(cells_.size());
  CellId root = cells_[base].root;
  cells_.push_back(
      {value, meta, root, base, cells_[root].version, static_cast<uint32_t>(recipes_.size())});
  recipes_.push_back(std::move(recipe));
  return id;
}

void Memory::keep_apart(CellId a, CellId b, const SizeFacts& facts, const Loc& loc) {
  if (facts.decided() && facts.assumed().empty()) return;
  const auto at = static_cast<uint32_t>(doubts_.size());
  doubts_.push_back({cells_[a].root, cells_[b].root, facts, loc});
  doubts_of_[cells_[a].root].push_back(at);
  doubts_of_[cells_[b].root].push_back(at);
}

Result<Ok> Memory::require(const SizeFacts& facts, const Loc& loc) {
  if (!facts.decided()) {
    return error(
        Code::unsupported, loc,
        "whether the result shares its operand's memory is known at run time only, and the "
        "model writes to one of them and reads the other");
  }
  for (const DimGuard& guard : facts.assumed()) {
    auto same = [&](const DimGuard& g) {
      return g.op == guard.op && g.left == guard.left && g.right == guard.right;
    };
    if (std::none_of(model_.guards.begin(), model_.guards.end(), same)) {
      model_.guards.push_back(guard);
    }
  }
  return Ok{};
}

void Memory::suspect_others(CellId root) {
  std::set<CellId> reached = {root};
  std::vector<CellId> next = {root};
  while (!next.empty()) {
    const CellId at = next.back();
    next.pop_back();
    auto doubts = doubts_of_.find(at);
    if (doubts == doubts_of_.end()) continue;
    for (uint32_t doubt : doubts->second) {
      const CellId other = doubts_[doubt].a == at ? doubts_[doubt].b : doubts_[doubt].a;
      if (!reached.insert(other).second) continue;
      suspects_[other].push_back(doubt);
      next.push_back(other);
    }
  }
}

Result<Ok> Memory::settle(CellId root) {
  auto found = suspects_.find(root);
  if (found == suspects_.end()) return Ok{};
  for (uint32_t doubt : found->second) QC_TRY(require(doubts_[doubt].facts, doubts_[doubt].loc));
  suspects_.erase(found);
  return Ok{};
}

Result<Value*> Memory::read(CellId cell) {
  QC_TRY(settle(cells_[cell].root));
  const uint64_t now = cells_[cells_[cell].root].version;
  std::vector<CellId> stale;
  for (CellId c = cell; cells_[c].version != now && cells_[c].base != c; c = cells_[c].base) {
    stale.push_back(c);
  }
  for (size_t i = stale.size(); i-- > 0;) {
    Cell& c = cells_[stale[i]];
    QC_ASSIGN(c.value, apply(c));
    c.version = now;
  }
  return cells_[cell].value;
}

Result<Ok> Memory::write(CellId cell, Value* value, const Loc& loc) {
  QC_ASSIGN(Value * old, read(cell));
  if (old == value) return Ok{};
  std::vector<CellId> path;
  for (CellId c = cell; cells_[c].base != c; c = cells_[c].base) {
    path.push_back(c);
    Value* written = value;
    const ViewRecipe& recipe = recipes_[cells_[c].recipe];
    if (recipe.view->write_back == WriteBack::strided) {
      QC_ASSIGN(value, write_strided(c, written, loc));
      cells_[c].value = written;
      break;
    }
    QC_ASSIGN(Value * base, read(cells_[c].base));
    QC_ASSIGN(value, write_back(recipe, base, written));
    cells_[c].value = written;
  }
  Cell& root = cells_[cells_[cell].root];
  root.value = value;
  ++root.version;
  for (CellId c : path) cells_[c].version = root.version;
  suspect_others(cells_[cell].root);
  return Ok{};
}

Result<Layout> Memory::layout(CellId cell, const Loc& loc) const {
  const TensorMeta* meta = cells_[cell].meta;
  if (meta == nullptr) return error(Code::graph, loc, "a tensor has no strides");
  return layout(*meta, loc);
}

Result<Layout> Memory::layout(const TensorMeta& meta, const Loc& loc) const {
  if (meta.sizes.size() != meta.strides.size()) {
    return error(Code::graph, loc, "a tensor has {} sizes and {} strides", meta.sizes.size(),
                 meta.strides.size());
  }
  Layout out;
  QC_ASSIGN(out.sizes, symbols_.dims(meta.sizes, loc));
  QC_ASSIGN(out.strides, symbols_.dims(meta.strides, loc));
  QC_ASSIGN(out.offset, symbols_.dim(meta.storage_offset, loc));
  return out;
}

Result<Memory::Storage> Memory::storage(CellId cell, const Loc& loc) {
  const CellId root = cells_[cell].root;
  QC_ASSIGN(Layout owner, layout(root, loc));
  const auto order = dense_order(owner);
  if (!order || cells_[cell].value->dtype() != cells_[root].value->dtype()) {
    return error(Code::unsupported, loc, "{} by strides {} reaches into memory that {}", loc.op,
                 str(owner.strides),
                 order ? "has another element type" : "no tensor of the model fills");
  }
  QC_ASSIGN(Value * value, read(root));
  if (!std::is_sorted(order->begin(), order->end())) {
    QC_ASSIGN(value,
              call_aten(graph_, "permute.default", {{"self", value}, {"dims", *order}}, loc));
  }
  QC_ASSIGN(value, call_aten(graph_, "reshape.default",
                             {{"self", value}, {"shape", Dims{product(owner.sizes)}}}, loc));
  return Storage{value, owner.offset};
}

Result<Value*> Memory::owner_of(Value* elements, CellId cell, const Loc& loc) {
  QC_ASSIGN(Layout owner, layout(cells_[cell].root, loc));
  const auto order = dense_order(owner);
  if (!order) return error(Code::bug, loc, "a storage without order was written");
  Dims sizes;
  Ints inverse(order->size());
  for (size_t i = 0; i < order->size(); ++i) {
    sizes.push_back(owner.sizes[static_cast<size_t>((*order)[i])]);
    inverse[static_cast<size_t>((*order)[i])] = static_cast<int64_t>(i);
  }
  QC_ASSIGN(Value * value,
            call_aten(graph_, "reshape.default", {{"self", elements}, {"shape", sizes}}, loc));
  if (std::is_sorted(order->begin(), order->end())) return value;
  return call_aten(graph_, "permute.default", {{"self", value}, {"dims", inverse}}, loc);
}

Result<bool> Memory::may_overlap(CellId cell, const Loc& loc) const {
  for (CellId c = cell; cells_[c].base != c; c = cells_[c].base) {
    if (!recipes_[cells_[c].recipe].view->may_overlap) continue;
    QC_ASSIGN(Layout view, layout(c, loc));
    if (never_overlaps(view, model_)) return false;
    QC_ASSIGN(Layout base, layout(cells_[c].base, loc));
    if (!has_axes_of(view, base)) return true;
  }
  return false;
}

Result<Value*> Memory::write_strided(CellId cell, Value* part, const Loc& loc) {
  QC_ASSIGN(Layout at, layout(cell, loc));
  QC_ASSIGN(const bool overlaps, may_overlap(cell, loc));
  if (overlaps) {
    return error(Code::unsupported, loc,
                 "the model writes through a view made by aten.{}, of which several elements may "
                 "be one in memory",
                 recipes_[cells_[cell].recipe].node.op);
  }
  QC_ASSIGN(Storage whole, storage(cell, loc));
  QC_ASSIGN(Value * elements, call_aten(graph_, "as_strided_scatter.default",
                                        {{"self", whole.elements},
                                         {"src", part},
                                         {"size", at.sizes},
                                         {"stride", at.strides},
                                         {"storage_offset", at.offset - whole.first}},
                                        loc));
  return owner_of(elements, cell, loc);
}

Result<Value*> Memory::apply(const Cell& cell) {
  const ViewRecipe& recipe = recipes_[cell.recipe];
  Value* base = cells_[cell.base].value;
  if (recipe.row == nullptr) return base;
  ForeignNode node = recipe.node;
  if (recipe.view->of_storage) {
    QC_ASSIGN(Storage whole, storage(cell.root, node.loc));
    base = whole.elements;
  }
  Arg& self = node.args[recipe.self_arg].second;
  if (auto* list = std::get_if<Values>(&self)) {
    (*list)[recipe.self_index] = base;
  } else {
    self = base;
  }
  Import import(graph_, node);
  QC_ASSIGN(Values values, located(recipe.row->import(import), node.loc));
  if (recipe.output >= values.size()) {
    return import.fail(Code::bug, "a view changed its number of outputs");
  }
  return values[recipe.output];
}

Result<Value*> Memory::write_back(const ViewRecipe& recipe, Value* base, Value* part) {
  const Loc& loc = recipe.node.loc;
  Import import(graph_, recipe.node);
  NamedArgs args = {{"self", base}, {"src", part}};
  auto keep = [&](std::string_view name) {
    if (const Arg* arg = import.find(name)) args.emplace_back(std::string(name), *arg);
  };
  switch (recipe.view->write_back) {
    case WriteBack::identity:
      return part;
    case WriteBack::reshape:
      return call_aten(graph_, "reshape.default", {{"self", part}, {"shape", base->shape()}}, loc);
    case WriteBack::permute: {
      QC_ASSIGN(Ints perm, permutation(recipe.view->op, import, base->rank()));
      Ints inverse(perm.size());
      for (size_t i = 0; i < perm.size(); ++i) inverse[perm[i]] = static_cast<int64_t>(i);
      return call_aten(graph_, "permute.default", {{"self", part}, {"dims", inverse}}, loc);
    }
    case WriteBack::slice:
      keep("dim");
      if (recipe.view->op == "narrow.default") {
        QC_ASSIGN(Dim start, import.dim("start", 0));
        QC_ASSIGN(Dim length, import.dim("length", 0));
        args.emplace_back("start", start);
        args.emplace_back("end", start + length);
      } else {
        for (auto name : {"start", "end", "step"}) keep(name);
      }
      return call_aten(graph_, "slice_scatter.default", std::move(args), loc);
    case WriteBack::select:
      keep("dim");
      keep("index");
      return call_aten(graph_, "select_scatter.default", std::move(args), loc);
    case WriteBack::parts: {
      QC_ASSIGN(int64_t axis, import.i("dim", 0));
      QC_ASSIGN(axis, resolve_axis(axis, base->rank(), loc));
      args.emplace_back("dim", axis);
      args.emplace_back("start", recipe.start);
      args.emplace_back("end", recipe.start + part->shape()[axis]);
      return call_aten(graph_, "slice_scatter.default", std::move(args), loc);
    }
    case WriteBack::unbind:
      keep("dim");
      args.emplace_back("index", static_cast<int64_t>(recipe.output));
      return call_aten(graph_, "select_scatter.default", std::move(args), loc);
    case WriteBack::diagonal:
      for (auto name : {"offset", "dim1", "dim2"}) keep(name);
      return call_aten(graph_, "diagonal_scatter.default", std::move(args), loc);
    case WriteBack::strided:
      break;
  }
  return error(Code::bug, loc, "aten.{} has no way back into its operand", recipe.node.op);
}

}  // namespace qc::pt2
