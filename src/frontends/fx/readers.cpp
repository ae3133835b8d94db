#include "frontends/fx/readers.h"

#include "frontends/fx/calls.h"

namespace qc::fx {
namespace {

constexpr std::string_view kItem = "_operator.getitem";

/// Whether the node does nothing but compute its result.
bool only_computes(const Dump& dump, const DumpNode& node) {
  if (node.op == "get_attr" || only_checks(dump, node)) return true;
  if (node.op != "call_function") return false;
  if (node.target == kItem) return true;
  const auto overload = find_overload(node.target);
  return overload && overload->known() && !overload->in_place && !overload->op.ends_with("out");
}

/// The module that a node calls if it is one of guards.
const DumpModule* guards_module(const Dump& dump, const DumpNode& node) {
  if (node.op != "call_module") return nullptr;
  const auto module = dump.modules.find(node.target);
  const bool guards =
      module != dump.modules.end() && module->second.type == "torch.export._unlift.GuardsFn";
  return guards ? &module->second : nullptr;
}

}  // namespace

bool only_checks(const Dump& dump, const DumpNode& node) {
  if (node.op == "call_function") {
    const auto overload = find_overload(node.target);
    return overload && overload->package == "aten" &&
           (overload->op.starts_with("_assert_") ||
            overload->op.starts_with("sym_constrain_range"));
  }
  return guards_module(dump, node) != nullptr;
}

std::vector<std::string> guards_of(const Dump& dump, const DumpNode& node) {
  std::vector<std::string> out;
  const DumpModule* module = guards_module(dump, node);
  for (const auto& [name, item] : module ? module->attributes : NamedItems{}) {
    if (name != "guards") continue;
    for (const Item& guard : item.items) out.push_back(guard.text);
  }
  return out;
}

Readers::Readers(const Dump& dump) {
  for (size_t i = dump.nodes.size(); i-- > 0;) {
    const DumpNode& node = dump.nodes[i];
    if (only_computes(dump, node) && !whole_.count(node.name) && !items_.count(node.name)) continue;
    live_.insert(&node);
    const bool item = node.op == "call_function" && node.target == kItem && node.args.size() == 2 &&
                      node.args[0].kind == Item::Kind::node &&
                      node.args[1].kind == Item::Kind::integer && node.args[1].integer >= 0;
    if (item) {
      items_[node.args[0].text].insert(node.args[1].integer);
      continue;
    }
    for (const Item& arg : node.args) read(arg);
    for (const auto& [name, arg] : node.kwargs) read(arg);
  }
}

void Readers::read(const Item& item) {
  if (item.kind == Item::Kind::node) whole_.insert(item.text);
  for (const Item& inner : item.items) read(inner);
}

std::vector<bool> Readers::items(const std::string& name) const {
  const auto found = items_.find(name);
  if (found == items_.end() || whole_.count(name)) return {};
  constexpr int64_t kMost = 64;
  std::vector<bool> out(kMost, false);
  for (const int64_t i : found->second) {
    if (i < kMost) out[static_cast<size_t>(i)] = true;
  }
  return out;
}

}  // namespace qc::fx
