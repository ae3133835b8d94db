#include "passes/merge_common.h"

#include <algorithm>
#include <unordered_set>

#include "ir/op_table.h"

namespace qc {
namespace {

/// Operands, in an order of their own where the op lets them be swapped.
std::vector<Value*> operands(const Node& n) {
  std::vector<Value*> inputs = n.inputs();
  if (n.info().has(kCommutative) && inputs.size() >= 2 && std::less<>()(inputs[1], inputs[0])) {
    std::swap(inputs[0], inputs[1]);
  }
  return inputs;
}

struct Hash {
  size_t operator()(const Node* n) const {
    size_t hash = std::hash<std::string_view>()(n->op());
    auto mix = [&](size_t more) { hash = (hash ^ more) * 0x9e3779b97f4a7c15u; };
    for (const Value* v : operands(*n)) mix(std::hash<const Value*>()(v) >> 4);
    for (const auto& [name, value] : get_attrs(*n, false)) {
      mix(std::hash<std::string>()(name));
      mix(std::hash<std::string>()(str(value)));
    }
    return hash ^ hash >> 32;
  }
};

struct Same {
  bool operator()(const Node* a, const Node* b) const {
    return a->op() == b->op() && operands(*a) == operands(*b) && texts(*a) == texts(*b);
  }
  /// Attributes as text: of two NaNs it says that they are the same, and of two zeros that not.
  static std::string texts(const Node& n) {
    std::string out;
    for (const auto& [name, value] : get_attrs(n, false)) out += name + "=" + str(value) + ";";
    return out;
  }
};

}  // namespace

Result<bool> merge_common(Graph& graph, PassContext&) {
  bool changed = false;
  std::unordered_set<Node*, Hash, Same> seen;
  seen.reserve(graph.node_count());
  for (Node* n = graph.first(); n; n = n->next()) {
    if (n->info().has(kCommutative) && n->input(0)->is_constant() && !n->input(1)->is_constant()) {
      std::vector<Value*> inputs = n->inputs();
      std::swap(inputs[0], inputs[1]);
      graph.set_inputs(n, std::move(inputs));
      changed = true;
    }
    if (n->info().has(kRandom) || n->info().has(kHasRegions) || n->output_count() == 0) continue;
    auto [it, fresh] = seen.insert(n);
    if (fresh) continue;
    Node* first = *it;
    graph.set_loc(first, join(first->loc(), n->loc()));
    for (size_t i = 0; i < n->output_count(); ++i)
      graph.replace_uses(n->output(i), first->output(i));
    changed = true;
  }
  if (changed) graph.sweep();
  return changed;
}

}  // namespace qc
