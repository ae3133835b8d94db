#include "frontends/pt2/plan.h"

#include <map>
#include <unordered_map>

#include "frontends/pt2/symbols.h"
#include "frontends/pt2/views.h"

namespace qc::pt2 {
namespace {

/// A node is called after its module; where a module holds several nodes, its own name follows.
std::vector<Loc> name_nodes(const FlatGraph& flat, const Liveness& liveness,
                            const std::string& file) {
  std::unordered_map<std::string_view, int> count;
  for (size_t i = 0; i < flat.nodes.size(); ++i) {
    const ExportedNode& node = flat.nodes[i].node;
    if (liveness.live(i) && !is_symbolic(node)) ++count[node.module];
  }
  std::vector<Loc> out;
  for (const FlatNode& f : flat.nodes) {
    std::string own = f.node.name;
    for (const Argument& output : f.node.outputs) {
      if (own.empty() && !output.items.empty()) own = output.items[0].text;
    }
    std::string name = f.node.module;
    if (name.empty()) {
      name = own;
    } else if (count[f.node.module] > 1) {
      name += "/" + own;
    }
    std::string_view target = f.node.target;
    if (target.starts_with("torch.ops.")) target.remove_prefix(10);
    out.push_back(Loc{file, {name}, std::string(target)});
  }
  return out;
}

struct Missing {
  int count = 0;
  std::string first;
};
using MissingOps = std::map<std::string, Missing>;

Result<Ok> collect(const Plan& plan, MissingOps& missing) {
  for (size_t i = 0; i < plan.flat.nodes.size(); ++i) {
    const ExportedNode& node = plan.flat.nodes[i].node;
    if (!plan.liveness.live(i) || is_symbolic(node)) continue;
    if (is_control_flow(node.target)) {
      for (const NamedArgument& input : node.inputs) {
        if (input.arg.kind != ArgKind::graph) continue;
        QC_ASSIGN(Plan body, make_plan(*input.arg.graph, {}, plan.file));
        QC_TRY(collect(body, missing));
      }
      continue;
    }
    Target target = split_target(node.target);
    if (find_row(target) != nullptr) continue;
    Missing& m = missing[plan.locs[i].op];
    if (m.count++ == 0) m.first = plan.locs[i].names[0];
  }
  return Ok{};
}

}  // namespace

Result<Plan> make_plan(const ExportedGraph& graph, const std::vector<std::string>& live_names,
                       const std::string& file, const SharedNames& shared) {
  QC_ASSIGN(FlatGraph flat, flatten(graph, Loc{file, {}, {}}));
  std::vector<std::string> outputs;
  for (const Argument& arg : flat.outputs) {
    for_each_name(arg, [&](const std::string& name) { outputs.push_back(name); });
  }
  Liveness liveness(flat, outputs, live_names, shared);
  std::vector<Loc> locs = name_nodes(flat, liveness, file);
  return Plan{file, std::move(flat), std::move(liveness), std::move(locs)};
}

Result<Ok> check_supported(const Plan& plan) {
  MissingOps missing;
  QC_TRY(collect(plan, missing));
  if (missing.empty()) return Ok{};
  Diag diag = error(Code::unsupported_op, Loc{plan.file, {}, {}}, "{} operation{} not supported",
                    missing.size(), missing.size() == 1 ? " is" : "s are");
  for (const auto& [op, m] : missing) {
    diag.notes.push_back(
        fmt::format("{}: {} node{}, first '{}'", op, m.count, m.count == 1 ? "" : "s", m.first));
  }
  return diag;
}

bool is_control_flow(std::string_view target) {
  return target == "torch.ops.higher_order.cond" || target == "torch.ops.higher_order.while_loop" ||
         target == "torch.ops.higher_order.scan" || target == "torch.ops.higher_order.map_impl";
}

const ImportRow* find_row(const Target& target) {
  std::string op(target.op);
  if (target.domain == "aten") {
    if (auto plain = functional_name(op)) op = *plain;
  }
  return import_table().find(target.domain, op, 0);
}

}  // namespace qc::pt2
