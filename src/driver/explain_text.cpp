#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "driver/explain.h"
#include "driver/qparams.h"
#include "support/counted.h"
#include "support/escape.h"
#include "support/layer_names.h"
#include "support/wrap.h"

namespace qc {
namespace {

/// "rules.toml:12" of "some/folder/rules.toml:12".
std::string short_origin(const std::string& origin) {
  const size_t slash = origin.rfind('/');
  return slash == std::string::npos ? origin : origin.substr(slash + 1);
}

std::string decibels(double value) {
  return std::isfinite(value) ? fmt::format("{:.1f} dB", value) : "exact";
}

std::string sum_text(const AccumulatorProof& p) {
  std::string out = fmt::format("{}: {} terms", name(p.type), p.terms);
  if (p.weight_sum > 0) out += fmt::format(", sum|w| {}", p.weight_sum);
  return out + fmt::format(", |sum| <= {}", p.bound);
}

std::string weight_text(const WeightReport& w) {
  std::string out = w.format;
  if (w.sqnr_db) out += ", " + decibels(*w.sqnr_db);
  if (w.saturated > 0) out += fmt::format(", {} of {} saturated", w.saturated, w.elements);
  return out;
}

std::string json_list(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& item : list) out += (out.empty() ? "" : ", ") + json_string(item);
  return "[" + out + "]";
}

Totals totals(const std::vector<NodeReport>& reports) {
  Totals out;
  for (const NodeReport& r : reports) out.add(r.computes);
  return out;
}

}  // namespace

std::string table(const std::vector<NodeReport>& reports, size_t width, bool cut) {
  std::vector<std::vector<std::string>> all;
  for (const NodeReport& r : reports) all.push_back(r.names);
  const LayerNames names(all, cut);
  // Columns; a longer name has lines of its own. kWidest is for wide terminals.
  constexpr size_t kName = 34, kWidest = 60;
  std::vector<std::vector<std::string>> rows = {
      {"node", "op", "computes", "rule", "input", "weights", "result", "sum, or why"}};
  for (const NodeReport& r : reports) {
    rows.push_back({names.of(r.names), r.op, std::string(name(r.computes)),
                    shown(short_origin(r.rule)),
                    clipped(fmt::format("{}", fmt::join(r.inputs, ", ")), 48),
                    r.weight ? weight_text(*r.weight) : "", r.output,
                    r.accumulator ? sum_text(*r.accumulator) : shown(r.why)});
  }
  std::vector<size_t> widths(rows[0].size());
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  widths[0] = std::min(widths[0], kWidest);
  std::string out = names.note();
  size_t total = 0;
  for (size_t w : widths) total += w + 2;
  if (total > width + 2) {
    // Name, op, what it does and rule in one line, the rest below.
    for (size_t r = 1; r < rows.size(); ++r) {
      auto& row = rows[r];
      if (row[0].size() > kName) {
        out += name_lines(row[0], width);
        row[0].clear();
      }
      out += fmt::format("{:<{}}  {:<{}}  {:<8}  {}", row[0], kName, row[1], widths[1], row[2],
                         row[3]);
      out.erase(out.find_last_not_of(' ') + 1);
      out += "\n";
      for (size_t i = 4; i < row.size(); ++i) {
        if (row[i].empty()) continue;
        const std::string& title = i < 7 ? rows[0][i] : reports[r - 1].accumulator ? "sum" : "why";
        out += wrapped(fmt::format("    {:<8} ", title), row[i], width);
      }
    }
    rows.clear();
  }
  for (auto& row : rows) {
    std::string line;
    if (row[0].size() > widths[0]) {
      out += name_lines(row[0], 100);
      row[0].clear();
    }
    for (size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out + "\n" + str(totals(reports)) + "\n";
}

std::string str(const Totals& t) {
  const size_t indices = t[Computes::indices];
  return fmt::format("{}: {} integer, {} float, {} move elements, {} convert{}",
                     counted(t.nodes, "node"), t[Computes::integer], t[Computes::floats],
                     t[Computes::moves], t[Computes::converts],
                     indices ? fmt::format(", {} on indices", indices) : "");
}

std::string json(const std::vector<NodeReport>& reports, const PassContext& context) {
  std::string out = "{\"nodes\": [";
  for (size_t i = 0; i < reports.size(); ++i) {
    const NodeReport& r = reports[i];
    out += fmt::format("{}\n  {{\"names\": {}, \"op\": {}, \"computes\": \"{}\", \"rule\": {}",
                       i ? "," : "", json_list(r.names), json_string(r.op), name(r.computes),
                       r.rule.empty() ? "null" : json_string(r.rule));
    out +=
        fmt::format(", \"inputs\": {}, \"result\": {}", json_list(r.inputs), json_string(r.output));
    out += fmt::format(", \"input_qparams\": {}, \"result_qparams\": {}",
                       qparams_json(r.input_types), qparams_json(r.output_types));
    if (r.weight) {
      const WeightReport& w = *r.weight;
      out += fmt::format(
          ", \"weights\": {{\"format\": {}, \"qparams\": {}, \"elements\": {}, \"saturated\": {}",
          json_string(w.format), qparams_json(w.type), w.elements, w.saturated);
      if (w.sqnr_db) {
        out += fmt::format(", \"sqnr_db\": {}",
                           std::isfinite(*w.sqnr_db) ? fmt::format("{:.3f}", *w.sqnr_db) : "null");
      }
      out += "}";
    }
    if (r.accumulator) {
      const AccumulatorProof& p = *r.accumulator;
      out += fmt::format(
          ", \"sum\": {{\"type\": \"{}\", \"terms\": {}, \"weight_sum\": {}, \"bound\": {}}}",
          name(p.type), p.terms, p.weight_sum, p.bound);
    }
    if (!r.why.empty()) out += ", \"why\": " + json_string(r.why);
    out += "}";
  }
  const Totals all = totals(reports);
  return out + fmt::format(
                   "\n],\n\"remarks\": {},\n\"warnings\": {},\n\"totals\": {{\"nodes\": {}, "
                   "\"integer\": {}, \"float\": {}, \"moves\": {}, \"converts\": {}, \"indices\": "
                   "{}}}}}\n",
                   json_list(context.remarks), json_list(context.warnings), all.nodes,
                   all[Computes::integer], all[Computes::floats], all[Computes::moves],
                   all[Computes::converts], all[Computes::indices]);
}

}  // namespace qc
