#include "passes/eliminate_common_subexpressions.h"

#include <algorithm>

#include "ir/op_table.h"
#include "support/index_table.h"

namespace qc {
namespace {

/// Operand i, the operands having an order of their own where the op lets them be swapped.
const Value* operand(const Node& n, size_t i) {
  const bool swapped = i < 2 && n.info().has(kCommutative) && n.input_count() >= 2 &&
                       std::less<>()(n.input(1), n.input(0));
  return n.input(swapped ? 1 - i : i);
}

size_t hash_of(const Node& n) {
  size_t hash = std::hash<std::string_view>()(n.op());
  auto mix = [&](size_t more) { hash = (hash ^ more) * 0x9e3779b97f4a7c15u; };
  for (size_t i = 0; i < n.input_count(); ++i) {
    mix(std::hash<const Value*>()(operand(n, i)) >> 4);
  }
  for (const auto& [name, value] : get_attrs(n, false)) {
    mix(std::hash<std::string>()(name));
    mix(std::hash<std::string>()(str(value)));
  }
  return hash ^ hash >> 32;
}

/// Attributes as text: of two NaNs it says that they are the same, and of two zeros that not.
std::string attr_text(const Node& n) {
  std::string out;
  for (const auto& [name, value] : get_attrs(n, false)) out += name + "=" + str(value) + ";";
  return out;
}

bool same(const Node& a, const Node& b) {
  if (a.op() != b.op() || a.input_count() != b.input_count()) return false;
  for (size_t i = 0; i < a.input_count(); ++i) {
    if (operand(a, i) != operand(b, i)) return false;
  }
  return attr_text(a) == attr_text(b);
}

}  // namespace

Result<bool> eliminate_common_subexpressions(Graph& graph, PassContext&) {
  bool changed = false;
  std::vector<Node*> retained;
  retained.reserve(graph.node_count());
  IndexTable seen;
  seen.reserve(graph.node_count());
  for (Node* n = graph.first(); n; n = n->next()) {
    if (n->info().has(kCommutative) && n->input(0)->is_constant() && !n->input(1)->is_constant()) {
      std::vector<Value*> inputs = n->inputs();
      std::swap(inputs[0], inputs[1]);
      graph.set_inputs(n, std::move(inputs));
      changed = true;
    }
    if (n->info().has(kRandom) || n->info().has(kHasRegions) || n->output_count() == 0) continue;
    const auto fresh = static_cast<uint32_t>(retained.size());
    const uint32_t found =
        seen.find_or_add(hash_of(*n), fresh, [&](uint32_t i) { return same(*retained[i], *n); });
    if (found == fresh) {
      retained.push_back(n);
      continue;
    }
    Node* first = retained[found];
    graph.set_loc(first, join(first->loc(), n->loc()));
    for (size_t i = 0; i < n->output_count(); ++i)
      graph.replace_uses(n->output(i), first->output(i));
    changed = true;
  }
  if (changed) graph.sweep();
  return changed;
}

}  // namespace qc
