#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "driver/analyze.h"
#include "support/escape.h"

namespace qc {
namespace {

std::string name_of(const LayerAnalysis& l) { return fmt::format("{}", fmt::join(l.names, "+")); }

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

std::string table(const Analysis& analysis) {
  std::string out =
      fmt::format("{:<34}{:<10}{:>10}{:>12}{:>10}{:>12}{:>11}{:>11}{:>9}  {}\n", "layer", "op",
                  "alone dB", "all dB", "cosine", "max error", "least", "greatest", "beyond", "");
  for (const LayerAnalysis& l : analysis.layers) {
    const LayerError& e = l.cumulative;
    out +=
        fmt::format("{:<34}{:<10}{:>10}{:>12}{:>10.5f}{:>12.3g}{:>11.3g}{:>11.3g}{:>8.2f}%  {}\n",
                    clipped(shown(name_of(l)), 32), l.op,
                    l.alone ? decibels(l.alone->sqnr_db()) : "-", decibels(e.sqnr_db()), e.cosine(),
                    e.max_abs, l.least, l.greatest, l.saturated_percent(), l.suggestion);
  }
  return out + fmt::format("{} layers, {} runs\n", analysis.layers.size(), analysis.runs);
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
