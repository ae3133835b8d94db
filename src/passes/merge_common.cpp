#include "passes/merge_common.h"

#include <algorithm>
#include <unordered_map>

#include "ir/op_table.h"

namespace qc {
namespace {

std::string key_of(const Node& n) {
  std::vector<Value*> inputs = n.inputs();
  if (n.info().has(kCommutative) && inputs.size() >= 2 && std::less<>()(inputs[1], inputs[0])) {
    std::swap(inputs[0], inputs[1]);
  }
  std::string key(n.op());
  for (const Value* v : inputs) key.append(reinterpret_cast<const char*>(&v), sizeof v);
  for (const auto& [name, value] : get_attrs(n, false)) key += name + "=" + str(value) + ";";
  return key;
}

}  // namespace

Result<bool> merge_common(Graph& graph, PassContext&) {
  bool changed = false;
  std::unordered_map<std::string, Node*> seen;
  for (Node* n = graph.first(); n; n = n->next()) {
    if (n->info().has(kRandom) || n->info().has(kHasRegions) || n->output_count() == 0) continue;
    auto [it, fresh] = seen.try_emplace(key_of(*n), n);
    if (fresh) continue;
    Node* first = it->second;
    graph.set_loc(first, join(first->loc(), n->loc()));
    for (size_t i = 0; i < n->output_count(); ++i)
      graph.replace_uses(n->output(i), first->output(i));
    changed = true;
  }
  if (changed) graph.sweep();
  return changed;
}

}  // namespace qc
