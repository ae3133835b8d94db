#include "frontends/pt2/inline.h"

#include <unordered_map>

namespace qc::pt2 {
namespace {

constexpr std::string_view kPrefix = "torch.ops.higher_order.";

/// The names of one graph and what they are called in the flat one.
struct Scope {
  std::string prefix;
  std::unordered_map<std::string, std::string> names;

  const std::string& of(const std::string& name) {
    auto [it, fresh] = names.try_emplace(name);
    if (fresh) it->second = prefix + name;
    return it->second;
  }
};

class Flattener {
 public:
  explicit Flattener(const Loc& loc) : loc_(loc) {}

  Result<std::vector<Argument>> add(const ExportedGraph& graph, Scope& scope, ScalarType autocast) {
    copy_values(graph.tensors, out_.tensors, scope);
    copy_values(graph.sym_ints, out_.sym_ints, scope);
    copy_values(graph.sym_floats, out_.sym_floats, scope);
    copy_values(graph.sym_bools, out_.sym_bools, scope);
    for (const ExportedNode& node : graph.nodes) {
      if (is_wrapper(node.target)) {
        QC_TRY(add_wrapper(node, scope, autocast));
      } else {
        FlatNode flat{node, autocast};
        for (NamedArgument& input : flat.node.inputs) rename(input.arg, scope);
        for (Argument& output : flat.node.outputs) rename(output, scope);
        out_.nodes.push_back(std::move(flat));
      }
    }
    std::vector<Argument> outputs = graph.outputs;
    for (Argument& output : outputs) rename(output, scope);
    return outputs;
  }

  FlatGraph take() { return std::move(out_); }

 private:
  template <class Map>
  static void copy_values(const Map& from, Map& to, Scope& scope) {
    for (const auto& [name, value] : from) to.insert_or_assign(scope.of(name), value);
  }

  static void rename(Argument& arg, Scope& scope) {
    if (arg.kind == ArgKind::graph) return;
    for (Item& item : arg.items) {
      if (item.kind == Item::Kind::name) item.text = scope.of(item.text);
    }
  }

  Result<Ok> add_wrapper(const ExportedNode& node, Scope& scope, ScalarType autocast) {
    size_t at = 0;
    while (at < node.inputs.size() && node.inputs[at].arg.kind != ArgKind::graph) ++at;
    if (at == node.inputs.size()) return broken(node, "it has no body");
    const ExportedGraph& body = *node.inputs[at].arg.graph;
    if (node.target.ends_with("wrap_with_autocast")) {
      if (at < 3 || node.inputs[1].arg.kind != ArgKind::scalar_type ||
          node.inputs[2].arg.kind != ArgKind::boolean) {
        return broken(node, "its arguments are not those of autocast");
      }
      autocast = node.inputs[2].arg.items[0].integer ? node.inputs[1].arg.items[0].integer : 0;
    }
    std::vector<Item> operands;
    for (size_t i = at + 1; i < node.inputs.size(); ++i) {
      const Argument& arg = node.inputs[i].arg;
      operands.insert(operands.end(), arg.items.begin(), arg.items.end());
    }
    if (operands.size() != body.inputs.size()) {
      return broken(node, "its operands do not match its body");
    }
    Scope inner;
    inner.prefix = scope.prefix + std::to_string(++wrappers_) + "/";
    for (size_t i = 0; i < operands.size(); ++i) {
      const Argument& input = body.inputs[i];
      if (input.items.size() != 1 || input.items[0].kind != Item::Kind::name) continue;
      if (operands[i].kind != Item::Kind::name) return broken(node, "it passes a literal");
      inner.names[input.items[0].text] = scope.of(operands[i].text);
    }
    QC_ASSIGN(std::vector<Argument> results, add(body, inner, autocast));
    std::vector<Item> values;
    for (const Argument& r : results) values.insert(values.end(), r.items.begin(), r.items.end());
    std::vector<Item> named;
    for (const Argument& o : node.outputs)
      named.insert(named.end(), o.items.begin(), o.items.end());
    if (values.size() != named.size()) return broken(node, "its results do not match its body");
    for (size_t i = 0; i < named.size(); ++i) {
      if (named[i].kind != Item::Kind::name || values[i].kind != Item::Kind::name) continue;
      scope.names[named[i].text] = values[i].text;
    }
    return Ok{};
  }

  Diag broken(const ExportedNode& node, std::string_view why) const {
    return error(Code::graph, Loc{loc_.file, {node.name}, node.target}, "cannot inline: {}", why);
  }

  const Loc& loc_;
  FlatGraph out_;
  int wrappers_ = 0;
};

}  // namespace

bool is_wrapper(std::string_view target) {
  if (!target.starts_with(kPrefix)) return false;
  target.remove_prefix(kPrefix.size());
  for (std::string_view name : {"wrap_with_set_grad_enabled", "wrap_with_autocast", "wrap",
                                "tag_activation_checkpoint", "strict_mode"}) {
    if (target == name) return true;
  }
  return false;
}

Result<FlatGraph> flatten(const ExportedGraph& graph, const Loc& loc) {
  Flattener flattener(loc);
  Scope scope;
  QC_ASSIGN(std::vector<Argument> outputs, flattener.add(graph, scope, 0));
  FlatGraph flat = flattener.take();
  flat.outputs = std::move(outputs);
  return flat;
}

}  // namespace qc::pt2
