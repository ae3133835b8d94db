#include "driver/analyze_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "driver/inspect.h"
#include "driver/rules.h"
#include "driver/step_times.h"
#include "quant/rule_file.h"
#include "support/escape.h"

namespace qc {
namespace {

std::string joined(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, "+"));
}

/// Bars of the layers' SQNR, the worst first.
std::string bars(const Analysis& analysis) {
  constexpr int kRow = 18, kLeft = 260, kWidth = 420;
  double most = 1;
  for (const LayerAnalysis& l : analysis.layers) {
    const double db = (l.alone ? *l.alone : l.cumulative).sqnr_db();
    if (std::isfinite(db)) most = std::max(most, db);
  }
  std::string out = fmt::format("<svg class='plot' width='{}' height='{}' role='img'>\n",
                                kLeft + kWidth + 80, kRow * analysis.layers.size() + 4);
  for (size_t i = 0; i < analysis.layers.size(); ++i) {
    const LayerAnalysis& l = analysis.layers[i];
    const double db = (l.alone ? *l.alone : l.cumulative).sqnr_db();
    const double length = std::clamp(std::isfinite(db) ? db : (db > 0 ? most : 0.0), 0.0, most);
    const size_t y = i * kRow;
    out += fmt::format(
        "<text x='{}' y='{}' text-anchor='end'>{}</text><rect x='{}' y='{}' width='{:.1f}' "
        "height='{}' class='{}'/><text x='{:.1f}' y='{}'>{}</text>\n",
        kLeft - 6, y + 13, html_text(clipped(shown(joined(l.names)), 36)), kLeft, y + 2,
        std::max(1.0, length / most * kWidth), kRow - 4, db < 20 ? "bad" : "good",
        kLeft + length / most * kWidth + 6, y + 13, decibels(db));
  }
  return out + "</svg>\n";
}

/// The float results over what the codes can say.
std::string histogram(const LayerAnalysis& l) {
  const int64_t most = *std::max_element(l.histogram.begin(), l.histogram.end());
  if (most == 0) return "";
  std::string out =
      fmt::format("<svg class='plot' width='{}' height='24'>", 4 * l.histogram.size());
  for (size_t i = 0; i < l.histogram.size(); ++i) {
    const double height = 24.0 * std::log1p(static_cast<double>(l.histogram[i])) /
                          std::log1p(static_cast<double>(most));
    out += fmt::format("<rect x='{}' y='{:.1f}' width='3' height='{:.1f}' class='bin'/>", 4 * i,
                       24 - height, height);
  }
  return out + "</svg>";
}

/// What a layer costs, over all kernel calls of its name.
struct Cost {
  int64_t macs = 0, bytes = 0;
  double seconds = 0;
};

/// What one form of the model costs as a whole, and by the last names of layers: where a kernel
/// computes several, the last has it all.
struct Costs {
  int64_t weights = 0, arena = 0;
  Cost all;
  std::map<std::string, Cost> layers;
};

Result<Costs> costs_of(const Graph& graph, const Options& options,
                       const std::vector<Tensor>& inputs) {
  constexpr int kRuns = 5;
  Options here = options;
  here.target = "native";
  QC_ASSIGN(const InProcess model, InProcess::create(graph, without_buckets(here), 0));
  QC_ASSIGN(const auto program, model.program(inputs));
  QC_ASSIGN(const std::vector<StepTime> steps, step_times(model, inputs, kRuns));
  Costs out;
  out.arena = program->arena_bytes;
  for (const Buffer& b : program->buffers) {
    if (b.kind == BufferKind::constant && b.alias_of < 0) out.weights += b.size();
  }
  for (const StepTime& s : steps) {
    for (Cost* c : {&out.all, &out.layers[s.names.empty() ? "" : s.names.back()]}) {
      c->macs += s.macs;
      c->bytes += s.bytes;
      c->seconds += s.seconds;
    }
  }
  return out;
}

std::string cost_line(const char* what, const Costs& c) {
  return fmt::format(
      "<p>{}: weights {} bytes, arena {} bytes, {} multiply-accumulates, {:.3f} ms a run (in "
      "process, every layer for itself)</p>\n",
      what, c.weights, c.arena, c.all.macs, 1e3 * c.all.seconds);
}

constexpr const char* kHead =
    "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><title>{0}</title>\n<style>"
    "body{{font:14px sans-serif;margin:2em;max-width:1140px}}table{{border-collapse:collapse;"
    "width:100%;font-size:13px}}td,th{{padding:3px 6px;border-bottom:1px solid #ddd;"
    "text-align:right;vertical-align:top}}td:first-child,th:first-child{{text-align:left;"
    "overflow-wrap:anywhere}}small{{display:block;color:#666;overflow-wrap:anywhere}}"
    ".hint{{color:#a33}}.plot text{{font:12px sans-serif}}.plot{{max-width:100%}}"
    ".good{{fill:#4a90d9}}.bad{{fill:#d9534f}}.bin{{fill:#888}}"
    ".picture svg{{max-width:100%;height:auto}}</style></head><body>\n<h1>{0}</h1>\n"
    "<p>{1} layers, {2} runs. Signal to noise with only this layer quantized; the worst "
    "first.</p>\n";

std::string row(const LayerAnalysis& l, const Costs& costs) {
  const auto found = costs.layers.find(l.names.empty() ? "" : l.names.back());
  const std::string cost =
      found == costs.layers.end()
          ? "<td colspan='3'>computed with another</td>"
          : fmt::format("<td>{}</td><td>{}</td><td>{:.1f}</td>", found->second.macs,
                        found->second.bytes, 1e6 * found->second.seconds);
  const std::string hint =
      l.suggestion.empty() ? ""
                           : fmt::format("<small class='hint'>{}</small>", html_text(l.suggestion));
  const std::string rule = l.rule.substr(l.rule.rfind('/') + 1);
  const LayerError& e = l.cumulative;
  return fmt::format(
      "<tr><td>{}<small>{} <span title=\"{}\">{}</span></small>{}</td><td>{}</td><td>{}</td>"
      "<td>{:.5f}</td><td>{:.3g}</td><td>{:.3g} to {:.3g}</td><td>{:.2f} %</td>"
      "<td>{}<small>{}</small></td>{}</tr>\n",
      html_text(joined(l.names)), html_text(l.op), html_text(l.rule), html_text(rule), hint,
      l.alone ? decibels(l.alone->sqnr_db()) : "-", decibels(e.sqnr_db()), e.cosine(), e.max_abs,
      l.least, l.greatest, l.saturated_percent(), histogram(l), html_text(l.format), cost);
}

/// The rules as a rule file has them; lists that are long stand in an archive there.
Result<std::string> rules_of(const Options& options) {
  QC_ASSIGN(const auto stated, stated_rules(options));
  std::string out;
  std::vector<NamedArray> arrays;
  for (const StatedRule& rule : stated) {
    if (rule.own) {
      out += fmt::format("# {} decides by code of its own\n\n", rule.own->origin());
      continue;
    }
    quantc::RuleSpec spec = rule.spec;
    spec.origin.clear();
    const std::string origin = rule.spec.origin.substr(rule.spec.origin.rfind('/') + 1);
    out += fmt::format("[[rule]]  # {}\n{}\n", origin, rule_keys(spec, "rules.npz", arrays));
  }
  if (out.empty()) return out;
  return "<h2>Rules</h2>\n<pre>" + html_lines(out) + "</pre>\n";
}

}  // namespace

Result<std::string> analysis_page(const Analysis& analysis, const Graph& plain,
                                  const Graph& quantized, const Options& options,
                                  const std::vector<Tensor>& inputs, const std::string& title) {
  QC_ASSIGN(const Costs floats, costs_of(plain, without_rules(options), inputs));
  QC_ASSIGN(const Costs codes, costs_of(quantized, options, inputs));
  std::string out =
      fmt::format(fmt::runtime(kHead), html_text(title), analysis.layers.size(), analysis.runs);
  out += bars(analysis);
  out += "<h2>Sizes and times</h2>\n" + cost_line("Float", floats) + cost_line("Quantized", codes);
  out +=
      "<h2>Layers</h2>\n<table><tr><th>layer, op, rule</th><th>SQNR alone</th><th>SQNR all</th>"
      "<th>cosine</th><th>max error</th><th>range</th><th>clipped</th><th>results over the "
      "codes</th><th>MACs</th><th>bytes</th><th>&micro;s</th></tr>\n";
  for (const LayerAnalysis& l : analysis.layers) out += row(l, codes);
  out += "</table>\n";
  QC_ASSIGN(const std::string rules, rules_of(options));
  out += rules;
  out += "<h2>Graph</h2>\n";
  const auto picture = svg(quantized);
  if (!picture.ok() && picture.diag().code == Code::file) return picture.diag();
  if (picture.ok()) {
    // What Graphviz writes before its element belongs to a file of its own.
    const size_t begin = picture->find("<svg");
    out += "<div class='picture'>" + picture->substr(begin == std::string::npos ? 0 : begin) +
           "</div>\n";
  } else {
    out += "<p>No picture: " + html_text(picture.diag().text) + "</p>\n";
  }
  return out + "</body></html>\n";
}

}  // namespace qc
