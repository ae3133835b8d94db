#include "frontends/pt2/importer.h"

#include <unordered_map>

#include "frontends/pt2/context.h"

namespace qc::pt2 {
namespace {

using SpecKind = InputSpec::Kind;

class Importer {
 public:
  Importer(const Archive& archive, const FlatGraph& flat, const ImportOptions& options)
      : archive_(archive),
        program_(archive.program()),
        flat_(flat),
        graph_(std::make_unique<Graph>()),
        options_(options),
        liveness_(flat, output_names(), kept_names()),
        context_(flat, liveness_, *graph_, options.dims) {}

  Result<std::unique_ptr<Graph>> run() {
    graph_->file = archive_.file();
    name_nodes();
    QC_TRY(check_supported());
    QC_TRY(add_inputs());
    QC_TRY(add_ranges());
    for (size_t i = 0; i < flat_.nodes.size(); ++i) {
      if (liveness_.live(i)) QC_TRY(import_node(context_, flat_.nodes[i], locs_[i]));
    }
    QC_TRY(add_outputs());
    return std::move(graph_);
  }

 private:
  struct StateCell {
    size_t state;
    CellId cell;
  };

  Loc file_loc() const { return Loc{archive_.file(), {}, {}}; }

  // What the graph must compute.
  std::vector<std::string> output_names() const {
    std::vector<std::string> out;
    for (const Argument& arg : flat_.outputs) {
      for_each_name(arg, [&](const std::string& name) { out.push_back(name); });
    }
    return out;
  }
  std::vector<std::string> kept_names() const {
    std::vector<std::string> out;
    for (const InputSpec& spec : program_.input_specs) {
      for_each_name(spec.arg, [&](const std::string& name) { out.push_back(name); });
    }
    return out;
  }

  /// A node is called after its module; where a module holds several nodes, its own name follows.
  void name_nodes() {
    std::unordered_map<std::string_view, int> count;
    for (size_t i = 0; i < flat_.nodes.size(); ++i) {
      if (liveness_.live(i) && !is_symbolic(flat_.nodes[i].node)) {
        ++count[flat_.nodes[i].node.module];
      }
    }
    for (const FlatNode& flat : flat_.nodes) {
      const ExportedNode& node = flat.node;
      std::string own = node.name;
      for (const Argument& output : node.outputs) {
        if (own.empty() && !output.items.empty()) own = output.items[0].text;
      }
      std::string name = node.module;
      if (name.empty()) {
        name = own;
      } else if (count[node.module] > 1) {
        name += "/" + own;
      }
      std::string_view target = node.target;
      if (target.starts_with("torch.ops.")) target.remove_prefix(10);
      locs_.push_back(Loc{archive_.file(), {name}, std::string(target)});
    }
  }

  const ImportRow* find_row(const Target& target) const {
    std::string op(target.op);
    if (target.domain == "aten") {
      if (auto plain = plain_form(op)) op = *plain;
    }
    return import_table().find(target.domain, op, 0);
  }

  /// All ops without a row at once.
  Result<Ok> check_supported() const {
    struct Missing {
      int count = 0;
      Loc first;
    };
    std::map<std::string, Missing> missing;
    for (size_t i = 0; i < flat_.nodes.size(); ++i) {
      const ExportedNode& node = flat_.nodes[i].node;
      Target target = split_target(node.target);
      if (!liveness_.live(i) || is_symbolic(node) || is_fill(target.op)) continue;
      if (find_row(target) != nullptr) continue;
      Missing& m = missing[locs_[i].op];
      if (m.count++ == 0) m.first = locs_[i];
    }
    if (missing.empty()) return Ok{};
    Diag diag = error(Code::unsupported_op, file_loc(), "{} operation{} not supported",
                      missing.size(), missing.size() == 1 ? " is" : "s are");
    for (const auto& [op, m] : missing) {
      diag.notes.push_back(fmt::format("{}: {} use{}, first at '{}'", op, m.count,
                                       m.count == 1 ? "" : "s", m.first.names[0]));
    }
    return diag;
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
        CellId cell = context_.memory.allocate(graph_->add_input(name, std::move(type)));
        QC_TRY(context_.define(name, cell, loc));
        user_inputs_.emplace_back(name, cell);
      } else {
        QC_TRY(add_weight(spec, name, loc));
      }
    }
    return Ok{};
  }

  /// A constant, or state when the graph writes it; nothing when nobody reads it.
  Result<Ok> add_weight(const InputSpec& spec, const std::string& name, const Loc& loc) {
    bool state = liveness_.written(name) || mutated_by_spec(spec.target);
    if (!state && !liveness_.read(name)) return Ok{};
    QC_ASSIGN(ConstId id, load(spec.target));
    Value* value = state ? graph_->add_state(spec.target, id) : graph_->constant(id);
    CellId cell = context_.memory.allocate(value);
    if (state) states_.push_back({graph_->states().size() - 1, cell});
    state_by_name_.emplace(spec.target, cell);
    return context_.define(name, cell, loc);
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
      if (!plain || options_.dims.count(text)) continue;
      DimRange& out = graph_->dim_ranges[text];
      out.min = std::max<int64_t>(range.min.value_or(0), 0);
      if (range.max) out.max = *range.max;
    }
    for (const auto& [name, cell] : user_inputs_) {
      for (const SymInt& size : flat_.tensors.find(name)->second.sizes) {
        if (size.value || !size.hint) continue;
        QC_ASSIGN(Dim dim, context_.symbols.dim(size, file_loc()));
        auto range = graph_->dim_ranges.find(dim.str());
        if (range != graph_->dim_ranges.end()) range->second.hint = size.hint;
      }
    }
    return Ok{};
  }

  Result<Ok> add_outputs() {
    std::unordered_map<std::string, int> seen;
    if (flat_.outputs.size() != program_.output_specs.size()) {
      return error(Code::graph, file_loc(), "the graph has {} outputs, its signature {}",
                   flat_.outputs.size(), program_.output_specs.size());
    }
    for (size_t i = 0; i < flat_.outputs.size(); ++i) {
      QC_TRY(add_output(program_.output_specs[i], flat_.outputs[i], seen));
    }
    for (const auto& [name, cell] : user_inputs_) {
      QC_ASSIGN(Value * value, context_.memory.read(cell));
      if (value->def() != nullptr || value->is_constant()) {
        graph_->add_output(name + "_mutated", value);
      }
    }
    for (const StateCell& state : states_) {
      QC_ASSIGN(Value * value, context_.memory.read(state.cell));
      graph_->set_state_out(state.state, value);
    }
    graph_->sweep();
    return Ok{};
  }

  /// `flat` is the output's argument in the flat graph, where inlining may have renamed it.
  Result<Ok> add_output(const OutputSpec& spec, const Argument& flat,
                        std::unordered_map<std::string, int>& seen) {
    if (spec.kind == OutputSpec::Kind::other) {
      return error(Code::unsupported, file_loc(), "outputs of kind '{}' are not supported",
                   spec.member);
    }
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
        return context_.memory.write(cell->second, value);
      }
      case OutputSpec::Kind::user_input_mutation: {
        auto cell = context_.cells.find(spec.target);
        if (cell == context_.cells.end()) {
          return error(Code::graph, loc, "'{}' is not an input", spec.target);
        }
        return context_.memory.write(cell->second, value);
      }
      default:
        break;
    }
    int repeat = seen[name]++;
    graph_->add_output(repeat == 0 ? name : fmt::format("{}_{}", name, repeat), value);
    return Ok{};
  }

  const Archive& archive_;
  const ExportedProgram& program_;
  const FlatGraph& flat_;
  std::unique_ptr<Graph> graph_;
  const ImportOptions& options_;
  Liveness liveness_;
  Context context_;
  std::vector<Loc> locs_;
  std::map<std::string, CellId, std::less<>> state_by_name_;
  std::map<const std::byte*, std::vector<std::pair<const StoredTensor*, ConstId>>> loaded_;
  std::vector<StateCell> states_;
  std::vector<std::pair<std::string, CellId>> user_inputs_;
};

}  // namespace

Result<std::unique_ptr<Graph>> import_archive(const Archive& archive,
                                              const ImportOptions& options) {
  QC_ASSIGN(FlatGraph flat, flatten(archive.program().graph, Loc{archive.file(), {}, {}}));
  return Importer(archive, flat, options).run();
}

Result<std::unique_ptr<Graph>> import_file(const std::string& path, const ImportOptions& options) {
  QC_ASSIGN(Archive archive, Archive::open(path));
  return import_archive(archive, options);
}

}  // namespace qc::pt2
