#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "driver/analyze.h"
#include "support/counted.h"
#include "support/escape.h"
#include "support/layer_names.h"
#include "support/wrap.h"

namespace qc {
namespace {

std::string json_number(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "null";
}

std::string json_error(const LayerError& e) {
  return fmt::format("{{\"sqnr_db\": {}, \"cosine\": {}, \"max_abs\": {}}}",
                     json_number(e.sqnr_db()), json_number(e.cosine()), json_number(e.max_abs));
}

}  // namespace

std::string decibels(double value) {
  return std::isfinite(value) ? fmt::format("{:.1f}", value) : value > 0 ? "exact" : "-";
}

std::string table(const Analysis& analysis, size_t width, bool cut) {
  constexpr size_t kLeastName = 24;  // columns; below it numbers stand under the name
  std::vector<std::vector<std::string>> all;
  for (const LayerAnalysis& l : analysis.layers) all.push_back(l.names);
  const LayerNames names(all, cut);
  std::vector<std::vector<std::string>> rows = {{"layer", "op", "SQNR alone", "SQNR all", "cosine",
                                                 "max error", "least", "greatest", "clipped"}};
  for (const LayerAnalysis& l : analysis.layers) {
    const LayerError& e = l.cumulative;
    rows.push_back({names.of(l.names), l.op, l.alone ? decibels(l.alone->sqnr_db()) : "-",
                    decibels(e.sqnr_db()), fmt::format("{:.5f}", e.cosine()),
                    fmt::format("{:.3g}", e.max_abs), fmt::format("{:.3g}", l.least),
                    fmt::format("{:.3g}", l.greatest),
                    fmt::format("{:.2f}%", l.saturated_percent())});
  }
  std::vector<size_t> widths(rows[0].size());
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  widths[0] = std::min<size_t>(widths[0], 60);  // a longer name has lines of its own
  size_t rest = 0;                              // columns beside the name
  for (size_t i = 1; i < widths.size(); ++i) rest += 2 + widths[i];
  const bool is_wide = rest + std::min(widths[0], kLeastName) <= width;
  if (is_wide) widths[0] = std::min(widths[0], width - rest);
  std::string out = names.note();
  for (size_t r = is_wide ? 0 : 1; r < rows.size(); ++r) {
    auto& row = rows[r];
    if (is_wide) {
      if (row[0].size() > widths[0]) {
        out += name_lines(row[0], width);
        row[0].clear();
      }
      out += fmt::format("{:<{}}  {:<{}}", row[0], widths[0], row[1], widths[1]);
      for (size_t i = 2; i < row.size(); ++i) out += fmt::format("  {:>{}}", row[i], widths[i]);
      out += "\n";
    } else {
      std::string numbers;
      for (size_t i = 2; i < row.size(); ++i)
        numbers += fmt::format("{}{} {}", i == 2 ? "" : ", ", rows[0][i], row[i]);
      out += name_lines(row[0], width - row[1].size() - 2);
      out.insert(out.size() - 1, "  " + row[1]);
      out += wrapped("    ", numbers, width);
    }
    if (r > 0 && !analysis.layers[r - 1].suggestion.empty())
      out += wrapped("    ", analysis.layers[r - 1].suggestion, width);
  }
  return out + fmt::format("{}, {}\n", counted(analysis.layers.size(), "layer"),
                           counted(analysis.runs, "run"));
}

std::string json(const Analysis& analysis) {
  std::string out = fmt::format("{{\"runs\": {}, \"layers\": [", analysis.runs);
  for (size_t i = 0; i < analysis.layers.size(); ++i) {
    const LayerAnalysis& l = analysis.layers[i];
    std::string names;
    for (const std::string& n : l.names) names += (names.empty() ? "" : ", ") + json_string(n);
    out += fmt::format(
        "{}\n  {{\"names\": [{}], \"op\": {}, \"rule\": {}, \"format\": {}, \"alone\": {}, "
        "\"cumulative\": {}, \"least\": {}, \"greatest\": {}, \"elements\": {}, \"saturated\": {}, "
        "\"histogram\": [{}], \"suggestion\": {}}}",
        i ? "," : "", names, json_string(l.op), json_string(l.rule), json_string(l.format),
        l.alone ? json_error(*l.alone) : "null", json_error(l.cumulative), json_number(l.least),
        json_number(l.greatest), l.elements, l.saturated, fmt::join(l.histogram, ", "),
        json_string(l.suggestion));
  }
  return out + "\n]}\n";
}

}  // namespace qc
