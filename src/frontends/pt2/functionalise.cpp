#include "frontends/pt2/functionalise.h"

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

CellId Memory::allocate(Value* value) {
  CellId id = static_cast<CellId>(cells_.size());
  cells_.push_back({value, id, id, 0, 0});
  return id;
}

CellId Memory::view(CellId base, ViewRecipe recipe, Value* value) {
  CellId id = static_cast<CellId>(cells_.size());
  CellId root = cells_[base].root;
  cells_.push_back(
      {value, root, base, cells_[root].version, static_cast<uint32_t>(recipes_.size())});
  recipes_.push_back(std::move(recipe));
  return id;
}

Result<Value*> Memory::read(CellId cell) {
  const uint64_t now = cells_[cells_[cell].root].version;
  std::vector<CellId> stale;
  for (CellId c = cell; cells_[c].version != now && cells_[c].base != c; c = cells_[c].base) {
    stale.push_back(c);
  }
  for (size_t i = stale.size(); i-- > 0;) {
    Cell& c = cells_[stale[i]];
    QC_ASSIGN(c.value, apply(recipes_[c.recipe], cells_[c.base].value));
    c.version = now;
  }
  return cells_[cell].value;
}

Result<Ok> Memory::write(CellId cell, Value* value) {
  QC_ASSIGN(Value * old, read(cell));
  if (old == value) return Ok{};
  std::vector<CellId> path;
  for (CellId c = cell; cells_[c].base != c; c = cells_[c].base) {
    QC_ASSIGN(Value * base, read(cells_[c].base));
    path.push_back(c);
    Value* written = value;
    QC_ASSIGN(value, write_back(recipes_[cells_[c].recipe], base, written));
    cells_[c].value = written;
  }
  Cell& root = cells_[cells_[cell].root];
  root.value = value;
  ++root.version;
  for (CellId c : path) cells_[c].version = root.version;
  return Ok{};
}

Result<Value*> Memory::apply(const ViewRecipe& recipe, Value* base) {
  if (recipe.row == nullptr) return base;
  ForeignNode node = recipe.node;
  node.args[recipe.self_arg].second = base;
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
    case WriteBack::none:
      break;
  }
  return error(Code::unsupported, loc, "the model writes through a view made by aten.{}",
               recipe.node.op);
}

}  // namespace qc::pt2
