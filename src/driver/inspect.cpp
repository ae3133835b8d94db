#include "driver/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "driver/build.h"
#include "frontends/common/foreign.h"
#include "ir/op_table.h"
#include "support/checked.h"
#include "support/escape.h"
#include "support/file.h"
#include "support/output.h"

namespace qc {
namespace {

std::string full_name(const Node& n) { return fmt::format("{}", fmt::join(n.loc().names, "+")); }

int64_t elements(const Type& type) {
  int64_t n = 1;
  for (const Dim& d : type.shape) n = saturating_mul(n, d.is_static() ? d.value() : 1);
  return n;
}

std::string grouped(int64_t n) {
  std::string digits = std::to_string(n), out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

struct Totals {
  int64_t parameters = 0, macs = 0, bytes = 0, nodes = 0;
};

void rows(const Graph& graph, const std::string& indent, std::set<ConstId>& counted, Totals& totals,
          std::string& out) {
  for (const Node* n = graph.first(); n; n = n->next()) {
    int64_t parameters = 0;
    for (const Value* v : n->inputs()) {
      if (v && v->is_constant() && counted.insert(v->constant()).second)
        parameters += elements(v->type());
    }
    int64_t result = 0;
    std::string shapes;
    for (size_t i = 0; i < n->output_count(); ++i) {
      const Type& type = n->output(i)->type();
      const auto size = static_cast<int64_t>(bytes(type.dtype));
      result = saturating_add(result, saturating_mul(elements(type), size));
      shapes += (i ? ", " : "") + std::string(name(type.dtype)) + str(type.shape);
    }
    const int64_t macs = n->macs();
    out +=
        fmt::format("{:<40} {:<16} {:<28} {:>12} {:>14} {:>12}\n",
                    clipped(indent + shown(full_name(*n)), 40), clipped(std::string(n->op()), 16),
                    clipped(shapes, 28), grouped(parameters), grouped(macs), grouped(result));
    totals.parameters += parameters;
    totals.macs = saturating_add(totals.macs, macs);
    totals.bytes = saturating_add(totals.bytes, result);
    ++totals.nodes;
    for (const auto& region : n->regions()) rows(*region, indent + "  ", counted, totals, out);
  }
}

}  // namespace

std::string summary(const Graph& graph) {
  std::string out;
  for (const Value* v : graph.inputs())
    out += fmt::format("input   {:<30} {}\n", shown(v->name()), str(v->type()));
  for (const State& s : graph.states())
    out += fmt::format("state   {:<30} {}\n", shown(s.name), str(s.in->type()));
  for (const Output& o : graph.outputs())
    out += fmt::format("output  {:<30} {}\n", shown(o.name), str(o.value->type()));
  out += fmt::format("\n{:<40} {:<16} {:<28} {:>12} {:>14} {:>12}\n", "layer", "op", "result",
                     "parameters", "MACs", "bytes");
  std::set<ConstId> counted;
  Totals totals;
  rows(graph, "", counted, totals, out);
  out += fmt::format("\n{} nodes, {} parameters, {} multiply-accumulates, {} bytes of results\n",
                     grouped(totals.nodes), grouped(totals.parameters), grouped(totals.macs),
                     grouped(totals.bytes));
  return out;
}

std::string names(const Graph& graph) {
  std::string out;
  for (const Node* n = graph.first(); n; n = n->next()) {
    for (const std::string& name : n->loc().names) {
      out += fmt::format("{}\t{}\n", shown(name), n->op());
    }
    for (const auto& region : n->regions()) out += names(*region);
  }
  return out;
}

std::string dot(const Graph& graph) {
  std::string out =
      "digraph model {\n  rankdir=TB;\n  node [shape=box, style=rounded, fontname=\"Helvetica\", "
      "fontsize=10];\n"
      "  edge [fontname=\"Helvetica\", fontsize=8];\n";
  std::unordered_map<const Node*, int> ids;
  std::unordered_map<const Value*, std::string> sources;
  int next = 0;
  for (const Value* v : graph.inputs()) {
    const std::string id = fmt::format("i{}", next++);
    sources[v] = id;
    out += fmt::format("  {} [label={}, shape=ellipse];\n", id, dot_string(v->name()));
  }
  for (const State& s : graph.states()) {
    const std::string id = fmt::format("i{}", next++);
    sources[s.in] = id;
    out += fmt::format("  {} [label={}, shape=cylinder];\n", id, dot_string(s.name));
  }
  next = 0;
  for (const Node* n = graph.first(); n; n = n->next()) {
    const std::string id = fmt::format("n{}", next++);
    out += fmt::format("  {} [label={}];\n", id,
                       dot_string(std::string(n->op()) + "\n" + clipped(shown(full_name(*n)), 40)));
    for (const Value* v : n->inputs()) {
      if (!v || v->is_constant()) continue;
      out += fmt::format("  {} -> {} [label={}];\n", sources[v], id, dot_string(str(v->type())));
    }
    for (size_t i = 0; i < n->output_count(); ++i) sources[n->output(i)] = id;
  }
  next = 0;
  for (const Output& o : graph.outputs()) {
    const std::string id = fmt::format("o{}", next++);
    out += fmt::format("  {} [label={}, shape=ellipse];\n", id, dot_string(o.name));
    if (!o.value->is_constant()) {
      out += fmt::format("  {} -> {} [label={}];\n", sources[o.value], id,
                         dot_string(str(o.value->type())));
    }
  }
  return out + "}\n";
}

Result<std::string> svg(const Graph& graph) {
  QC_ASSIGN(const ScratchFolder folder, ScratchFolder::create());
  const std::string source = folder.path() + "/model.dot", picture = folder.path() + "/model.svg";
  QC_TRY(write_file(source, dot(graph)));
  QC_TRY(run_tool({"dot", "-Tsvg", source, "-o", picture}));
  return read_text(picture);
}

std::string ops_markdown() {
  std::string out =
      "# Supported operations\n\nMade by `quantc ops`.\n\n## Operations of the graph\n\n"
      "| op | what it does |\n|---|---|\n";
  for (const auto& [name, entry] : op_table().all()) {
    out += fmt::format("| `{}` | {} |\n", name, entry.info->summary);
  }
  std::map<std::string, std::vector<std::string>> by_domain;
  for (const auto& [key, rows] : import_table().all()) {
    std::string text = "`" + key.second + "`";
    if (rows.size() > 1 || rows.front().since > 1) {
      std::string since;
      for (const ImportRow& r : rows)
        since += (since.empty() ? "" : ", ") + std::to_string(r.since);
      text += " (from " + since + ")";
    }
    by_domain[key.first].push_back(std::move(text));
  }
  for (const auto& [domain, list] : by_domain) {
    out += fmt::format("\n## Names read from models: {} ({})\n\n", domain.empty() ? "ONNX" : domain,
                       list.size());
    for (const std::string& text : list) out += "- " + text + "\n";
  }
  return out;
}

}  // namespace qc
