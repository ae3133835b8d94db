#include "frontends/fx/importer.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "frontends/common/unique_names.h"
#include "frontends/common/unknown_dim.h"
#include "frontends/fx/aten_calls.h"
#include "frontends/fx/check_supported.h"
#include "frontends/fx/function_calls.h"
#include "frontends/fx/module_calls.h"
#include "frontends/fx/readers.h"
#include "frontends/fx/scope.h"
#include "frontends/pt2/guards.h"
#include "support/budget.h"

namespace qc::fx {
namespace {

class Importer {
 public:
  Importer(const Dump& dump, const std::string& file, TensorMap tensors,
           const ImportOptions& options)
      : dump_(dump),
        file_(file),
        options_(options),
        graph_(std::make_unique<Graph>()),
        scope_(*graph_, std::move(tensors)),
        readers_(dump) {
    for (const DumpNode& node : dump.nodes) in_module_[node.module] += readers_.live(node);
  }

  Result<std::unique_ptr<Graph>> run() {
    graph_->file = file_;
    graph_->dot = options_.dot;
    QC_TRY(check_supported(dump_, readers_, file_));
    QC_TRY(check_dims());
    for (const DumpNode& node : dump_.nodes) {
      if (options_.inputs_only && node.op != "placeholder") continue;
      spend(Cost::work, kNodeWork);
      if (readers_.live(node)) {
        QC_TRY(add(node));
      } else {
        QC_TRY(add_guards(node));
      }
    }
    if (options_.inputs_only) return std::move(graph_);
    if (!returned_) return error(Code::graph, Loc{file_, {}, {}}, "the graph returns nothing");
    graph_->sweep();
    return std::move(graph_);
  }

 private:
  /// A node is called after its module; where a module holds several, its own name follows.
  Loc loc_of(const DumpNode& node) const {
    std::string name = node.name;
    if (node.op == "call_module") {
      name = node.target;
    } else if (!node.module.empty()) {
      name = in_module_.at(node.module) > 1 ? node.module + "/" + node.name : node.module;
    }
    return Loc{file_, {name}, node.target};
  }

  Result<Ok> check_dims() const {
    std::set<std::string> symbols;
    for (const auto& [name, input] : dump_.inputs) {
      for (const Dim& d : input.shape) d.collect_symbols(symbols);
    }
    for (const auto& [name, number] : options_.dims) {
      if (symbols.count(name)) continue;
      const std::vector<std::string> known(symbols.begin(), symbols.end());
      return unknown_dim(Loc{file_, {}, {}}, name, known, known);
    }
    return Ok{};
  }

  /// What the model was traced under. Guards that bound one dimension alone are its range.
  Result<Ok> add_guards(const DumpNode& node) {
    QC_TRY(pt2::add_guards(guards_of(dump_, node), *graph_, options_));
    std::erase_if(graph_->guards, [&](const DimGuard& guard) {
      const bool least = guard.op == DimGuard::Op::ge, most = guard.op == DimGuard::Op::le;
      const std::string name = guard.left.str();
      if (!(least || most) || !guard.right.is_static() || !(guard.left == Dim::symbol(name)))
        return false;
      DimRange& range = graph_->dim_ranges[name];
      if (least) range.min = std::max(range.min, guard.right.value());
      if (most) range.max = std::min(range.max, guard.right.value());
      return true;
    });
    return Ok{};
  }

  Result<Ok> add(const DumpNode& node) {
    const Loc loc = loc_of(node);
    if (returned_) return error(Code::graph, loc, "a node after the output");
    if (node.op == "placeholder") return placeholder(node, loc);
    if (node.op == "output") return output(node, loc);
    Thing result;
    if (node.op == "get_attr") {
      QC_ASSIGN(Value * value, scope_.weight(node.target));
      if (!value) return error(Code::graph, loc, "there is no tensor '{}'", node.target);
      result = Thing{scope_.memory().allocate(value)};
    } else if (node.op == "call_module") {
      QC_ASSIGN(result, modules_.call(node, loc));
    } else if (node.op == "call_function" || node.op == "call_method") {
      QC_ASSIGN(result, functions_.call(node, loc));
    } else {
      return error(Code::format, loc, "a node of the unknown kind '{}'", node.op);
    }
    if (const CellId* cell = result.as<CellId>()) {
      QC_ASSIGN(Value * value, scope_.memory().read(*cell, loc));
      if (value->def() && value->name().empty()) graph_->set_name(value, node.name);
    }
    return scope_.define(node.name, std::move(result), loc);
  }

  Result<Ok> placeholder(const DumpNode& node, const Loc& loc) {
    const auto stated = dump_.inputs.find(node.target);
    if (stated == dump_.inputs.end()) {
      if (!node.args.empty()) {  // a default that nobody overrode
        QC_ASSIGN(Thing fallback, scope_.thing(node.args[0], loc));
        return scope_.define(node.name, std::move(fallback), loc);
      }
      return error(Code::format, loc, "input '{}' has no type and shape", node.target);
    }
    Dims shape;
    for (const Dim& d : stated->second.shape) shape.push_back(d.substitute(options_.dims));
    const auto known = options_.constants.find(node.target);
    Value* value =
        known != options_.constants.end()
            ? graph_->constant(known->second, node.target)
            : graph_->add_input(node.target, Type(stated->second.dtype, std::move(shape)));
    return scope_.define(node.name, Thing{scope_.memory().allocate(value)}, loc);
  }

  Result<Ok> output(const DumpNode& node, const Loc& loc) {
    if (node.args.size() != 1) return error(Code::format, loc, "an output without a value");
    Values values;
    std::vector<std::string> names;
    QC_TRY(flatten(node.args[0], loc, values, names));
    for (size_t i = 0; const std::string& name : unique_names(std::move(names)))
      graph_->add_output(name, values[i++]);
    returned_ = true;
    return Ok{};
  }

  Result<Ok> flatten(const Item& item, const Loc& loc, Values& values,
                     std::vector<std::string>& names) {
    if (item.kind == Item::Kind::list) {
      for (const Item& one : item.items) QC_TRY(flatten(one, loc, values, names));
      return Ok{};
    }
    QC_ASSIGN(const Thing thing, scope_.thing(item, loc));
    if (thing.none()) return Ok{};
    const Things all = thing.as<Things>() ? *thing.as<Things>() : Things{thing};
    for (const Thing& one : all) {
      if (!one.as<CellId>()) return error(Code::unsupported, loc, "a result that is no tensor");
      QC_ASSIGN(Value * value, scope_.tensor(one, loc));
      values.push_back(value);
      names.push_back(item.text);
    }
    return Ok{};
  }

  const Dump& dump_;
  const std::string file_;
  const ImportOptions& options_;
  std::unique_ptr<Graph> graph_;
  Scope scope_;
  const Readers readers_;
  AtenCalls aten_{scope_};
  ModuleCalls modules_{dump_, scope_, aten_};
  FunctionCalls functions_{scope_, aten_, readers_};
  std::map<std::string, int> in_module_;  // nodes of each
  bool returned_ = false;
};

/// The file of tensors, which must lie in the folder of the dump.
Result<std::shared_ptr<const MappedFile>> open_beside(const std::string& path,
                                                      const std::string& name) {
  const Loc loc{path, {}, {}};
  if (path.empty()) {
    return error(Code::path, loc, "tensors in '{}' need a dump that is a file", name);
  }
  if (name.find('/') != name.npos || name.find('\0') != name.npos || name == "..")
    return error(Code::path, loc, "'{}' is not in the folder of the dump", name);
  return MappedFile::open((std::filesystem::path(path).parent_path() / name).string());
}

}  // namespace

Result<std::unique_ptr<Graph>> load(const std::shared_ptr<const MappedFile>& file,
                                    const std::string& path, const ImportOptions& options) {
  constexpr size_t kAlign = 64;
  const auto bytes = file->bytes();
  const std::string_view whole(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const size_t end = whole.find('\0');  // tensors follow in the same file
  QC_ASSIGN(const Dump dump, parse_dump(whole.substr(0, end), Loc{file->path(), {}, {}}));
  TensorMap tensors;
  std::shared_ptr<const MappedFile> stored;
  if (end != whole.npos) {
    stored = file;
    QC_ASSIGN(tensors, read_safetensors(file, (end / kAlign + 1) * kAlign));
  } else if (!dump.tensors.empty()) {
    QC_ASSIGN(stored, open_beside(path, dump.tensors));
    QC_ASSIGN(tensors, read_safetensors(stored));
  }
  QC_ASSIGN(auto graph, Importer(dump, file->path(), std::move(tensors), options).run());
  if (stored) graph->pool().add_file(stored);
  return graph;
}

}  // namespace qc::fx
