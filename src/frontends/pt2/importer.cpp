#include "frontends/pt2/importer.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "frontends/common/unique_names.h"
#include "frontends/common/unknown_dim.h"
#include "frontends/pt2/context.h"
#include "frontends/pt2/guards.h"
#include "frontends/pt2/out_spec.h"
#include "frontends/pt2/sharing.h"
#include "frontends/pt2/storage_groups.h"
#include "frontends/pt2/symexpr.h"
#include "ir/guard_text.h"

namespace qc::pt2 {
namespace {

using SpecKind = InputSpec::Kind;

bool is_number(ArgKind kind) {
  return kind == ArgKind::integer || kind == ArgKind::real || kind == ArgKind::boolean ||
         kind == ArgKind::sym_int || kind == ArgKind::sym_float || kind == ArgKind::sym_bool;
}

class Importer {
 public:
  Importer(const Archive& archive, const Plan& plan, const std::vector<StorageGroup>& groups,
           const ImportOptions& options)
      : archive_(archive),
        program_(archive.program()),
        plan_(plan),
        graph_(std::make_unique<Graph>()),
        options_(options),
        context_(plan, *graph_, *graph_, options.dims) {
    for (const StorageGroup& group : groups) {
      for (const InputSpec* spec : group) group_of_.emplace(spec->arg.items[0].text, &group);
    }
  }

  Result<std::unique_ptr<Graph>> run() {
    graph_->file = archive_.file();
    graph_->dot = options_.dot;
    if (archive_.mapping()) graph_->pool().add_file(archive_.mapping());
    QC_TRY(check_bindings());
    QC_TRY(add_inputs());
    if (options_.inputs_only) return std::move(graph_);
    QC_TRY(add_ranges());
    QC_TRY(add_guards(program_.guards, *graph_, options_));
    QC_TRY(context_.import_nodes());
    QC_TRY(add_outputs());
    return std::move(graph_);
  }

 private:
  struct StateCell {
    size_t state;
    CellId cell;
  };
  Loc file_loc() const { return Loc{archive_.file(), {}, {}}; }

  /// Every bound dim must be one of the inputs'.
  Result<Ok> check_bindings() const {
    std::set<std::string> symbols;
    std::vector<std::string>
        positions;  // "s27 (axis 1 of 'x')": files do not keep the names of Dim
    for (const InputSpec& spec : program_.input_specs) {
      if (spec.kind != SpecKind::user_input || spec.arg.kind != ArgKind::tensor) continue;
      auto meta = plan_.flat.tensors.find(spec.arg.items[0].text);
      if (meta == plan_.flat.tensors.end()) continue;
      for (size_t axis = 0; axis < meta->second.sizes.size(); ++axis) {
        const SymInt& size = meta->second.sizes[axis];
        if (size.value) continue;
        QC_ASSIGN(Dim dim, parse_symexpr(size.expr, file_loc()));
        if (dim == Dim::symbol(dim.str()) && !symbols.count(dim.str()))
          positions.push_back(fmt::format("{} (axis {} of '{}')", dim.str(), axis, meta->first));
        dim.collect_symbols(symbols);
      }
    }
    for (const auto& [name, number] : options_.dims) {
      if (symbols.count(name)) continue;
      return unknown_dim(file_loc(), name, {symbols.begin(), symbols.end()}, positions);
    }
    return Ok{};
  }

  Result<Ok> add_inputs() {
    for (const InputSpec& spec : program_.input_specs) {
      if (spec.kind == SpecKind::constant_input) continue;
      if (spec.kind == SpecKind::other) {
        return error(Code::unsupported, file_loc(), "inputs of kind '{}' are not supported",
                     spec.member);
      }
      if (spec.arg.kind != ArgKind::tensor) continue;
      const std::string& name = spec.arg.items[0].text;
      Loc loc{archive_.file(), {name}, {}};
      if (spec.kind == SpecKind::user_input) {
        QC_ASSIGN(Type type, context_.type_of(name, loc));
        auto frozen = options_.constants.find(name);
        Value* value = frozen != options_.constants.end()
                           ? graph_->constant(frozen->second, name)
                           : graph_->add_input(name, std::move(type));
        CellId cell = context_.memory.allocate(value, context_.meta_of(name));
        QC_TRY(context_.define(name, cell, loc));
        user_inputs_.push_back(name);
      } else {
        QC_TRY(add_weight(spec, name, loc));
      }
    }
    return Ok{};
  }

  /// A constant, or state when the graph writes it; nothing when nobody reads it.
  Result<Ok> add_weight(const InputSpec& spec, const std::string& name, const Loc& loc) {
    if (context_.cells.count(name) > 0) return Ok{};
    bool state = plan_.liveness.written(name) || mutated_by_spec(spec.target);
    if (auto found = group_of_.find(name); found != group_of_.end()) {
      const StorageGroup& group = *found->second;
      for (const InputSpec* other : group) state |= mutated_by_spec(other->target);
      if (state) return add_shared_state(group, loc);
    }
    if (!state && !plan_.liveness.read(name)) return Ok{};
    QC_ASSIGN(ConstId id, load(spec.target));
    Value* value = state ? graph_->add_state(spec.target, id) : graph_->constant(id);
    CellId cell = context_.memory.allocate(value, context_.meta_of(name));
    if (state) states_.push_back({graph_->states().size() - 1, cell});
    return define_weight(spec, cell, loc);
  }

  Result<Ok> define_weight(const InputSpec& spec, CellId cell, const Loc& loc) {
    state_by_name_.emplace(spec.target, cell);
    return context_.define(spec.arg.items[0].text, cell, loc);
  }

  /// Weights in one storage that the graph writes are one state: the weight that covers the others,
  /// or the storage where none does. The others are views of it.
  Result<Ok> add_shared_state(const StorageGroup& group, const Loc& loc) {
    QC_ASSIGN(GroupOwner found, find_owner(context_, group, loc));
    const TensorMeta& meta = *owners_.emplace_back(std::make_unique<TensorMeta>(found.meta));
    std::string name = group[0]->target + ".storage";
    ConstId id = 0;
    if (found.cover != nullptr) {
      name = found.cover->target;
      QC_ASSIGN(id, load(name));
    } else {
      QC_ASSIGN(Tensor tensor, archive_.storage_of(group[0]->target, *meta.storage_offset.value,
                                                   *meta.sizes[0].value));
      id = graph_->pool().add(std::move(tensor), name);
    }
    const CellId owner = context_.memory.allocate(graph_->add_state(name, id), &meta);
    states_.push_back({graph_->states().size() - 1, owner});
    for (const InputSpec* spec : group) {
      CellId cell = owner;
      if (spec != found.cover) {
        const TensorMeta* lies = context_.meta_of(spec->arg.items[0].text);
        QC_ASSIGN(cell, window(context_, owner, *lies, loc));
      }
      QC_TRY(define_weight(*spec, cell, loc));
    }
    return Ok{};
  }

  /// Names that share a stored tensor (tied weights) share one constant.
  Result<ConstId> load(const std::string& name) {
    const StoredTensor* stored = archive_.find(name);
    if (stored == nullptr) return archive_.weight(name).diag();
    auto& sharing = loaded_[stored->storage.data()];
    for (const auto& [other, id] : sharing) {
      if (*other == *stored) return id;
    }
    QC_ASSIGN(Tensor tensor, archive_.weight(name));
    ConstId id = graph_->pool().add(std::move(tensor), name);
    sharing.emplace_back(stored, id);
    return id;
  }

  bool mutated_by_spec(const std::string& target) const {
    for (const OutputSpec& spec : program_.output_specs) {
      if (spec.kind == OutputSpec::Kind::buffer_mutation && spec.target == target) return true;
    }
    return false;
  }

  /// Ranges of plain symbols, with the example sizes as hints.
  Result<Ok> add_ranges() {
    for (const auto& [text, range] : program_.ranges) {
      bool plain = !text.empty() && text.find_first_not_of(
                                        "abcdefghijklmnopqrstuvwxyz"
                                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                        "0123456789_") == text.npos;
      DimRange known;
      known.min = std::max<int64_t>(range.min.value_or(0), 0);
      if (range.max) known.max = *range.max;
      if (auto bound = options_.dims.find(text); bound != options_.dims.end()) {
        if (bound->second >= known.min && bound->second <= known.max) continue;
        return error(Code::dim, file_loc(), "dimension '{}' cannot be {}: the model allows {}",
                     text, bound->second, words(known));
      }
      if (plain) {
        graph_->dim_ranges[text] = known;
      } else if (auto dim = parse_symexpr(text, file_loc()); dim.ok()) {
        graph_->guards.push_back({*dim, DimGuard::Op::ge, Dim(known.min)});
        if (range.max) graph_->guards.push_back({*dim, DimGuard::Op::le, Dim(known.max)});
      }
    }
    for (const std::string& input : user_inputs_) {
      for (const SymInt& size : plan_.flat.tensors.find(input)->second.sizes) {
        if (size.value || !size.hint) continue;
        QC_ASSIGN(Dim dim, context_.symbols.dim(size, file_loc()));
        auto range = graph_->dim_ranges.find(dim.str());
        if (range != graph_->dim_ranges.end()) range->second.hint = size.hint;
      }
    }
    return Ok{};
  }

  Result<Ok> add_outputs() {
    if (plan_.flat.outputs.size() != program_.output_specs.size()) {
      return error(Code::graph, file_loc(), "the graph has {} outputs, its signature {}",
                   plan_.flat.outputs.size(), program_.output_specs.size());
    }
    const std::vector<std::string> keys = user_names();
    for (size_t i = 0, user = 0; i < plan_.flat.outputs.size(); ++i) {
      const OutputSpec& spec = program_.output_specs[i];
      const size_t before = names_.size();
      QC_TRY(add_output(spec, plan_.flat.outputs[i], i));
      if (spec.kind != OutputSpec::Kind::user_output) continue;
      const size_t at = user++;
      if (names_.size() > before && at < keys.size() && !keys[at].empty()) names_.back() = keys[at];
    }
    for (size_t i = 0; const std::string& name : unique_names(std::move(names_))) {
      graph_->add_output(name, outputs_[i++]);
    }
    for (const StateCell& state : states_) {
      QC_ASSIGN(Value * value, context_.memory.read(state.cell));
      graph_->set_state_out(state.state, value);
    }
    graph_->sweep();
    return Ok{};
  }

  /// What forward calls its results, in order; nothing where the file does not say it of all.
  std::vector<std::string> user_names() const {
    const auto count = std::ranges::count_if(program_.output_specs, [](const OutputSpec& spec) {
      return spec.kind == OutputSpec::Kind::user_output;
    });
    std::vector<std::string> out = output_names(program_.out_spec, file_loc());
    if (static_cast<int64_t>(out.size()) != count) out.clear();
    return out;
  }

  /// A number the model returns as a value of rank 0: what item() read, a size, or a constant.
  Result<Ok> add_number(const OutputSpec& spec, const Argument& flat, size_t index) {
    const bool named = spec.arg.items.size() == 1 && spec.arg.items[0].kind == Item::Kind::name;
    const std::string name = named ? spec.arg.items[0].text : fmt::format("output_{}", index);
    const Loc loc{archive_.file(), {name}, {}};
    QC_ASSIGN(auto arg, convert(context_, flat, loc));
    if (!arg) return Ok{};
    ForeignNode node;
    node.args = {{"self", std::move(*arg)}};
    node.loc = loc;
    const Import import(*graph_, node);
    QC_ASSIGN(Value * value, import.tensor("self"));
    if (value->rank() != 0) {
      QC_ASSIGN(value, import.emit("reshape", {value}, {{"shape", Dims{}}}));
    }
    names_.push_back(name);
    outputs_.push_back(value);
    return Ok{};
  }

  /// `flat` is the output's argument in the flat graph, where inlining may have renamed it.
  Result<Ok> add_output(const OutputSpec& spec, const Argument& flat, size_t index) {
    if (spec.kind == OutputSpec::Kind::other) {
      return error(Code::unsupported, file_loc(), "outputs of kind '{}' are not supported",
                   spec.member);
    }
    if (is_number(spec.arg.kind)) return add_number(spec, flat, index);
    if (spec.arg.kind != ArgKind::tensor) return Ok{};
    const std::string& name = spec.arg.items[0].text;
    if (flat.kind != ArgKind::tensor) {
      return error(Code::graph, file_loc(), "output '{}' does not match the signature", name);
    }
    Loc loc{archive_.file(), {name}, {}};
    QC_ASSIGN(Value * value, context_.read(flat.items[0].text, loc));
    switch (spec.kind) {
      case OutputSpec::Kind::buffer_mutation: {
        auto cell = state_by_name_.find(spec.target);
        if (cell == state_by_name_.end()) {
          return error(Code::graph, loc, "buffer '{}' is not an input", spec.target);
        }
        return context_.memory.write(cell->second, value, loc);
      }
      case OutputSpec::Kind::user_input_mutation: {
        auto cell = context_.cells.find(spec.target);
        if (cell == context_.cells.end()) {
          return error(Code::graph, loc, "'{}' is not an input", spec.target);
        }
        return context_.memory.write(cell->second, value, loc);
      }
      default:
        break;
    }
    names_.push_back(name);
    outputs_.push_back(value);
    return Ok{};
  }

  const Archive& archive_;
  const ExportedProgram& program_;
  const Plan& plan_;
  std::unique_ptr<Graph> graph_;
  const ImportOptions& options_;
  Context context_;
  std::map<std::string, const StorageGroup*> group_of_;  // by placeholder
  std::vector<std::unique_ptr<TensorMeta>> owners_;      // how states of groups lie
  std::map<std::string, CellId, std::less<>> state_by_name_;
  std::map<const std::byte*, std::vector<std::pair<const StoredTensor*, ConstId>>> loaded_;
  std::vector<StateCell> states_;
  std::vector<std::string> user_inputs_;
  std::vector<std::string> names_;  // of outputs_, as the file has them
  Values outputs_;
};

}  // namespace

Result<std::unique_ptr<Graph>> import_archive(const Archive& archive,
                                              const ImportOptions& options) {
  std::vector<std::string> live_names;
  for (const InputSpec& spec : archive.program().input_specs) {
    for_each_name(spec.arg, [&](const std::string& name) { live_names.push_back(name); });
  }
  const std::vector<StorageGroup> groups = storage_groups(archive);
  QC_ASSIGN(Plan plan,
            make_plan(archive.program().graph, live_names, archive.file(), placeholders(groups)));
  QC_TRY(check_supported(plan));
  return Importer(archive, plan, groups, options).run();
}

Result<std::unique_ptr<Graph>> load(const std::string& path, const ImportOptions& options) {
  QC_ASSIGN(Archive archive, Archive::open(path));
  return import_archive(archive, options);
}

}  // namespace qc::pt2
