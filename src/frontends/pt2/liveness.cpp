#include "frontends/pt2/liveness.h"

#include "frontends/pt2/views.h"

namespace qc::pt2 {

Target split_target(std::string_view target) {
  constexpr std::string_view kOps = "torch.ops.";
  if (!target.starts_with(kOps)) return {"python", target};
  std::string_view rest = target.substr(kOps.size());
  size_t dot = rest.find('.');
  if (dot == rest.npos) return {"python", target};
  return {rest.substr(0, dot), rest.substr(dot + 1)};
}

std::string_view first_tensor(const ExportedNode& node) {
  for (const NamedArgument& input : node.inputs) {
    if (input.arg.kind == ArgKind::tensor) return input.arg.items[0].text;
  }
  return {};
}

Liveness::Liveness(const FlatGraph& graph, const std::vector<std::string>& outputs,
                   const std::vector<std::string>& kept)
    : live_(graph.nodes.size(), false) {
  std::vector<bool> writes(graph.nodes.size(), false);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const ExportedNode& node = graph.nodes[i].node;
    Target target = split_target(node.target);
    if (target.domain != "aten") continue;
    writes[i] = plain_form(target.op).has_value();
    std::string base(first_tensor(node));
    if (base.empty() || (!writes[i] && find_view(target.op) == nullptr)) continue;
    for (const Argument& output : node.outputs) {
      for_each_name(output, [&](const std::string& name) { unite(base, name); });
    }
  }
  auto mark = [&](const std::string& name) {
    read_.insert(name);
    live_memory_.insert(find(name));
  };
  for (const std::string& name : outputs) mark(name);
  for (const std::string& name : kept) live_memory_.insert(find(name));
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const ExportedNode& node = graph.nodes[i].node;
    bool live = writes[i] && live_memory_.count(find(std::string(first_tensor(node)))) > 0;
    for (const Argument& output : node.outputs) {
      for_each_name(output, [&](const std::string& name) { live |= read_.count(name) > 0; });
    }
    if (!live) continue;
    live_[i] = true;
    for (const NamedArgument& input : node.inputs) for_each_name(input.arg, mark);
    if (writes[i]) written_.insert(find(std::string(first_tensor(node))));
  }
}

bool Liveness::written(const std::string& name) const { return written_.count(find(name)) > 0; }

const std::string& Liveness::find(const std::string& name) const {
  auto it = parent_.find(name);
  if (it == parent_.end()) it = parent_.emplace(name, name).first;
  while (it->second != it->first) {
    auto up = parent_.find(it->second);
    it->second = up->second;
    it = parent_.find(it->second);
  }
  return it->first;
}

void Liveness::unite(const std::string& a, const std::string& b) {
  const std::string& ra = find(a);
  const std::string& rb = find(b);
  if (ra != rb) parent_[rb] = ra;
}

}  // namespace qc::pt2
