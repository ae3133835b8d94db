#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "driver/analyze.h"
#include "support/escape.h"

namespace qc {
namespace {

std::string name_of(const LayerAnalysis& l) { return fmt::format("{}", fmt::join(l.names, "+")); }

std::string decibels(double value) {
  return std::isfinite(value) ? fmt::format("{:.1f}", value) : value > 0 ? "exact" : "-";
}

std::string json_number(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "null";
}

std::string json_error(const LayerError& e) {
  return fmt::format("{{\"sqnr_db\": {}, \"cosine\": {}, \"max_abs\": {}}}",
                     json_number(e.sqnr_db()), json_number(e.cosine()), json_number(e.max_abs));
}

double saturated(const LayerAnalysis& l) {
  return l.elements == 0
             ? 0
             : 100.0 * static_cast<double>(l.saturated) / static_cast<double>(l.elements);
}

std::string html_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
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
    const double shown = std::clamp(std::isfinite(db) ? db : (db > 0 ? most : 0.0), 0.0, most);
    const size_t y = i * kRow;
    out += fmt::format(
        "<text x='{}' y='{}' text-anchor='end'>{}</text><rect x='{}' y='{}' width='{:.1f}' "
        "height='{}' class='{}'/><text x='{:.1f}' y='{}'>{}</text>\n",
        kLeft - 6, y + 13, html_text(clipped(name_of(l), 36)), kLeft, y + 2,
        std::max(1.0, shown / most * kWidth), kRow - 4, db < 20 ? "bad" : "good",
        kLeft + shown / most * kWidth + 6, y + 13, decibels(db));
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

}  // namespace

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
                    e.max_abs, l.least, l.greatest, saturated(l), l.suggestion);
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

std::string html(const Analysis& analysis, const std::string& title, const std::string& picture) {
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><title>{0}</title>\n<style>"
      "body{{font:14px sans-serif;margin:2em}}table{{border-collapse:collapse}}td,th{{padding:3px "
      "7px;border-bottom:1px solid #ddd;text-align:right}}td:first-child,th:first-child,"
      "td:last-child{{text-align:left}}td{{white-space:nowrap}}"
      "td:nth-last-child(-n+2){{white-space:normal}}.plot "
      "text{{font:12px sans-serif}}.good{{fill:#4a90d9}}"
      ".bad{{fill:#d9534f}}.bin{{fill:#888}}.picture svg{{max-width:100%;height:auto}}</style>"
      "</head><body>\n<h1>{0}</h1>\n<p>{1} layers, {2} runs. Signal to noise with only this layer "
      "quantized; the worst first.</p>\n",
      html_text(title), analysis.layers.size(), analysis.runs);
  out += bars(analysis);
  out +=
      "<h2>Layers</h2>\n<table><tr><th>layer</th><th>op</th><th>rule</th><th>alone dB</th><th>all "
      "dB</th><th>cosine</th><th>max error</th><th>range</th><th>beyond</th><th>results over the "
      "codes</th><th>format</th><th>suggestion</th></tr>\n";
  for (const LayerAnalysis& l : analysis.layers) {
    const LayerError& e = l.cumulative;
    out += fmt::format(
        "<tr><td>{}</td><td>{}</td><td "
        "title=\"{}\">{}</td><td>{}</td><td>{}</td><td>{:.5f}</td><td>{:.3g}</td>"
        "<td>{:.3g} to {:.3g}</td><td>{:.2f} %</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        html_text(name_of(l)), html_text(l.op), html_text(l.rule),
        html_text(l.rule.substr(l.rule.rfind('/') + 1)),
        l.alone ? decibels(l.alone->sqnr_db()) : "-", decibels(e.sqnr_db()), e.cosine(), e.max_abs,
        l.least, l.greatest, saturated(l), histogram(l), html_text(l.format),
        html_text(l.suggestion));
  }
  out += "</table>\n";
  if (!picture.empty()) {
    // What Graphviz writes before its element belongs to a file of its own.
    const size_t begin = picture.find("<svg");
    out += "<h2>Graph</h2>\n<div class='picture'>" +
           picture.substr(begin == std::string::npos ? 0 : begin) + "</div>\n";
  }
  return out + "</body></html>\n";
}

}  // namespace qc
