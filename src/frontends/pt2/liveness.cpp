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

namespace {

/// Random numbers are memory of their own, and code that is dead in inference changes them.
bool is_random(std::string_view op) {
  for (std::string_view name : {"rand", "normal.", "bernoulli.", "multinomial.", "poisson."})
    if (op.starts_with(name)) return true;
  return false;
}

/// What a node does to memory.
struct Effect {
  bool known = true, writes = false;
  std::vector<std::string> shared;  // operands it writes to or gives back
};

/// An op without a row may do anything its name does not rule out: to be found out when it matters.
/// PyTorch's ops that write are in place, which the name says, or are an overload of their own
/// ("add.out", "topk.values", "div.out_mode"), so that one named "default" only reads.
Effect effect_of(const ExportedNode& node) {
  Effect e;
  const Target target = split_target(node.target);
  if (target.domain == "python" || target.domain == "higher_order") return e;
  const auto plain = functional_name(target.op);
  const bool aten = target.domain == "aten";
  e.known = import_table().find(target.domain, aten && plain ? *plain : target.op, 0) != nullptr;
  const bool only_reads = aten && (target.op.ends_with(".default") || is_random(target.op));
  e.writes = (aten && plain) || (!e.known && !only_reads);
  const ViewOp* view = aten ? find_view(target.op) : nullptr;
  const bool fresh =
      e.known ? view == nullptr || !may_share(*view, node) : aten && is_random(target.op);
  if (fresh && !e.writes) return e;
  if (std::string base(first_tensor(node)); e.known && !base.empty()) {
    e.shared.push_back(std::move(base));
  } else {
    for (const NamedArgument& input : node.inputs)
      for_each_name(input.arg, [&](const std::string& name) { e.shared.push_back(name); });
  }
  return e;
}

}  // namespace

Liveness::Liveness(const FlatGraph& graph, const std::vector<std::string>& outputs,
                   const std::vector<std::string>& live_names, const SharedNames& shared)
    : live_(graph.nodes.size(), false) {
  for (const std::vector<std::string>& names : shared) {
    for (const std::string& name : names) unite(names[0], name);
  }
  std::vector<Effect> effects;
  for (const FlatNode& flat : graph.nodes) {
    const Effect& e = effects.emplace_back(effect_of(flat.node));
    if (e.shared.empty()) continue;
    for (size_t k = 1; !e.known && k < e.shared.size(); ++k) unite(e.shared[0], e.shared[k]);
    size_t k = 0;  // views of several tensors: one of each
    for (const Argument& output : flat.node.outputs) {
      for_each_name(output, [&](const std::string& name) {
        unite(e.shared[e.shared.size() > 1 ? k++ % e.shared.size() : 0], name);
      });
    }
  }
  auto mark = [&](const std::string& name) {
    read_.insert(name);
    live_memory_.insert(find(name));
  };
  for (const std::string& name : outputs) mark(name);
  for (const std::string& name : live_names) live_memory_.insert(find(name));
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const ExportedNode& node = graph.nodes[i].node;
    const Effect& e = effects[i];
    bool live = false;
    for (const std::string& name : e.shared) live |= e.writes && live_memory_.count(find(name)) > 0;
    for (const Argument& output : node.outputs) {
      for_each_name(output, [&](const std::string& name) { live |= read_.count(name) > 0; });
    }
    if (!live) continue;
    live_[i] = true;
    for (const NamedArgument& input : node.inputs) for_each_name(input.arg, mark);
    for (size_t k = 0; e.writes && k < e.shared.size(); ++k) written_.insert(find(e.shared[k]));
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
