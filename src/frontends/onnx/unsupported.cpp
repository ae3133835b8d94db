// The one report of every op quantc does not have.
#include <fmt/format.h>

#include <map>

#include "frontends/onnx/importer.h"

namespace qc::onnx {
namespace {

struct Missing {
  int count = 0;
  std::string first;
  int version = 0;
};

}  // namespace

Result<Ok> Importer::check_supported(const std::vector<const NodeProto*>& nodes,
                                     const Env& env) const {
  std::map<std::pair<std::string_view, std::string_view>, Missing> missing;
  std::map<std::pair<std::string_view, std::string_view>, Missing> in_branches;
  std::set<const FunctionProto*> seen;

  struct Item {
    const NodeProto* node;
    const std::vector<OpsetId>* opsets;
    bool in_branch;
  };
  std::vector<Item> work;
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) work.push_back({*it, env.opsets, false});
  while (!work.empty()) {
    const Item item = work.back();
    work.pop_back();
    const NodeProto& n = *item.node;
    auto push = [&](const std::vector<NodeProto>& list, const auto* opsets, bool in_branch) {
      for (auto it = list.rbegin(); it != list.rend(); ++it)
        work.push_back({&*it, opsets, in_branch});
    };
    if (const FunctionProto* f = function_of(n)) {
      if (seen.insert(f).second) push(f->nodes, &f->opsets, item.in_branch);
      continue;
    }
    if ((n.domain.empty() && n.op_type == "Constant") || makes_sequences(n)) continue;
    if (control_flow(n)) {
      const bool in_branch = item.in_branch || n.op_type == "If";
      for (const AttributeProto& a : n.attributes) {
        if (a.g) push(a.g->nodes, item.opsets, in_branch);
      }
      continue;
    }
    Env at;
    at.opsets = item.opsets;
    const Loc where = loc(n, at);
    QC_ASSIGN(const int v, version(n.domain, at, where));
    if (import_table().find(n.domain, n.op_type, v)) continue;
    Missing& m = (item.in_branch ? in_branches : missing)[{n.domain, n.op_type}];
    if (m.count++ == 0) m = {1, where.names[0], v};
  }
  // A branch that a constant condition never takes needs no support: branches are only reported
  // beside other ops, or when they are imported themselves.
  if (missing.empty()) return Ok{};
  for (const auto& [key, m] : in_branches) {
    auto [it, fresh] = missing.emplace(key, m);
    if (!fresh) it->second.count += m.count;
  }
  Diag diag = error(Code::unsupported_op, file_loc(), "{} operation{} not supported",
                    missing.size(), missing.size() == 1 ? " is" : "s are");
  for (const auto& [key, m] : missing) {
    const auto& [domain, op] = key;
    diag.notes.push_back(fmt::format("{}{}{} (opset {}): {} node{}, first '{}'", domain,
                                     domain.empty() ? "" : ".", op, m.version, m.count,
                                     m.count == 1 ? "" : "s", m.first));
  }
  return diag;
}

}  // namespace qc::onnx
