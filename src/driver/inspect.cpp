#include "driver/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "driver/explain.h"
#include "driver/tool.h"
#include "frontends/common/foreign.h"
#include "ir/op_table.h"
#include "support/budget.h"
#include "support/escape.h"
#include "support/file.h"
#include "support/output.h"

namespace qc {
namespace {

std::string full_name(const Node& n) { return fmt::format("{}", fmt::join(n.loc().names, "+")); }

/// Fill colours of the picture and what they mean, in the order of Computes.
constexpr const char* kFills[] = {"#c6e5b9", "#f7c6b2", "#e6e6e6", "#bcd7f0", "#efefef"};
constexpr const char* kLegend =
    "green: computes on integers; red: computes in float; grey: moves elements or computes "
    "indices; "
    "blue: converts between float and codes";

}  // namespace

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
      "digraph model {\n  rankdir=TB;\n  node [shape=box, style=\"rounded,filled\", "
      "fillcolor=white, fontname=\"Helvetica\", fontsize=10];\n"
      "  edge [fontname=\"Helvetica\", fontsize=8];\n";
  out +=
      fmt::format("  label={};\n  fontname=\"Helvetica\";\n  fontsize=8;\n", dot_string(kLegend));
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
    out += fmt::format("  {} [label={}, fillcolor=\"{}\"];\n", id,
                       dot_string(std::string(n->op()) + "\n" + clipped(shown(full_name(*n)), 40)),
                       kFills[static_cast<size_t>(computes(*n))]);
    for (const Value* v : n->inputs()) {
      if (!v || v->is_constant()) continue;
      out +=
          fmt::format("  {} -> {} [label={}];\n", sources[v], id, dot_string(" " + str(v->type())));
    }
    for (size_t i = 0; i < n->output_count(); ++i) sources[n->output(i)] = id;
  }
  next = 0;
  for (const Output& o : graph.outputs()) {
    const std::string id = fmt::format("o{}", next++);
    out += fmt::format("  {} [label={}, shape=ellipse];\n", id, dot_string(o.name));
    if (!o.value->is_constant()) {
      out += fmt::format("  {} -> {} [label={}];\n", sources[o.value], id,
                         dot_string(" " + str(o.value->type())));
    }
  }
  return out + "}\n";
}

namespace {

/// Edges of a graph that Graphviz lays out in seconds, whatever it looks like.
constexpr int64_t kMostEdges = 2000;

int64_t edges(const Graph& graph) {
  auto out = static_cast<int64_t>(graph.outputs().size());
  for (const Node* n = graph.first(); n; n = n->next())
    out +=
        std::ranges::count_if(n->inputs(), [](const Value* v) { return v && !v->is_constant(); });
  return out;
}

}  // namespace

Result<std::string> svg(const Graph& graph) {
  const Budget* budget = Budget::current();
  const int64_t count = edges(graph), most = budget ? budget->scaled(kMostEdges) : count;
  if (count > most) {
    return error(Code::limit, Loc{graph.file, {}, {}},
                 "a picture of {} edges, more than the {} of files of this size, takes Graphviz "
                 "long: write it with inspect --dot and lay it out with sfdp, or give --budget {}",
                 count, most, count / most + 1);
  }
  QC_ASSIGN(const ScratchFolder folder, ScratchFolder::create());
  const std::string source = folder.path() + "/model.dot", picture = folder.path() + "/model.svg";
  QC_TRY(write_file(source, dot(graph)));
  QC_TRY(run_tool({{"dot", "-Tsvg", source, "-o", picture}, kPictureLimits, folder.path()}));
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
