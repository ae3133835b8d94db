#include "passes/drop_repeats.h"

#include <algorithm>

#include "ir/capability.h"

namespace qc {
namespace {

/// What the value repeats, where its shape says for all sizes which elements; null for others.
Value* repeated(const Value* value) {
  const Node* node = value ? value->def() : nullptr;
  if (!node || !node->info().has(kRepeats)) return nullptr;
  const Dims &from = node->input(0)->shape(), &to = value->shape();
  for (size_t i = 0; i < from.size(); ++i) {
    if (!(from[i] == Dim(1)) && !(from[i] == to[to.size() - from.size() + i])) return nullptr;
  }
  return node->input(0);
}

/// Reads what operands repeat where the op says that it repeats them, whatever its result.
bool read_by_capability(Graph& graph, Node* node) {
  const auto* op = capability<const RepeatsOperands>(node);
  bool changed = false;
  for (size_t i = 0; op && i < node->input_count(); ++i) {
    Value* const once = op->repeats(i) ? repeated(node->input(i)) : nullptr;
    if (once) graph.set_input(node, i, once);
    changed = changed || once;
  }
  return changed;
}

/// Reads what operands repeat, as long as one of them has the shape of the result.
bool read_once(Graph& graph, Node* node) {
  if (!node->info().has(kBroadcasts)) return read_by_capability(graph, node);
  const auto is_whole = [&](const Value* v) { return v->shape() == node->output()->shape(); };
  bool changed = false;
  for (size_t i = 0; i < node->input_count(); ++i) {
    Value* const once = repeated(node->input(i));
    if (!once) continue;
    const auto others = std::ranges::count_if(node->inputs(), is_whole) - is_whole(node->input(i));
    if (others == 0 && !is_whole(once)) continue;
    graph.set_input(node, i, once);
    changed = true;
  }
  return changed;
}

}  // namespace

Result<bool> drop_repeats(Graph& graph, PassContext&) {
  bool changed = false;
  for (Node* n = graph.first(); n; n = n->next()) changed = read_once(graph, n) || changed;
  if (changed) graph.sweep();
  return changed;
}

}  // namespace qc
