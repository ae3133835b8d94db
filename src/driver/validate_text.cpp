#include <fmt/format.h>

#include <cmath>

#include "driver/validate.h"
#include "support/escape.h"
#include "support/json_text.h"

namespace qc {
namespace {

std::string decibels(const Difference& d) {
  return d.bits_equal || std::isinf(d.sqnr_db) ? "inf" : fmt::format("{:.1f}", d.sqnr_db);
}

std::string verdict(const Comparison& c) { return !c.ok ? "FAIL" : c.judged ? "ok" : "-"; }

/// One run: an output in a line.
std::string one_run(const Validation& v) {
  std::string out = fmt::format("{:<16}{:<13}{:<20}{:>10}{:>10}{:>9}{:>12}  {}\n", "run", "against",
                                "output", "max abs", "max rel", "SQNR dB", "bits equal", "verdict");
  for (const Comparison& c : v.comparisons) {
    const Difference& d = c.difference;
    const std::string name = clipped(shown(c.output), 18);
    out += fmt::format("{:<16}{:<13}{:<20}", c.got, c.want, name);
    out += d.same_type ? fmt::format("{:>10.3g}{:>10.3g}{:>9}{:>12}", d.max_abs, d.max_rel,
                                     decibels(d), d.bits_equal ? "yes" : "no")
                       : fmt::format("{:>41}", "another type or shape");
    out += "  " + verdict(c) + "\n";
  }
  return out;
}

/// Many: how often the answer is the same, and which sample is worst.
std::string many_runs(const Validation& v) {
  std::string out =
      fmt::format("{:<16}{:<13}{:<14}{:>9}{:>9}{:>9}{:>14}{:>7}  {}\n", "run", "against", "output",
                  "max abs", "SQNR dB", "top-1 %", "worst sample", "equal", "verdict");
  for (const Comparison& c : v.comparisons) {
    const Difference& d = c.difference;
    out += fmt::format("{:<16}{:<13}{:<14}", c.got, c.want, clipped(shown(c.output), 12));
    if (d.same_type) {
      const std::string worst = std::isfinite(c.worst_sqnr_db)
                                    ? fmt::format("{} {:.1f}", c.worst_sample, c.worst_sqnr_db)
                                    : "-";
      out += fmt::format("{:>9.3g}{:>9}{:>9}{:>14}{:>7}", d.max_abs, decibels(d),
                         c.top1 ? fmt::format("{:.2f}", c.top1->percent()) : "-", worst,
                         d.bits_equal ? "yes" : "no");
    } else {
      out +=
          fmt::format("{:>48}", fmt::format("another type or shape (sample {})", c.worst_sample));
    }
    out += "  " + verdict(c) + "\n";
  }
  return out +
         fmt::format("{} samples; worst sample: its number from 0 and its SQNR in dB\n", v.samples);
}

std::string json(const Comparison& c) {
  const Difference& d = c.difference;
  JsonObject out;
  out.add("run", json_string(c.got)).add("against", json_string(c.want));
  out.add("output", json_string(c.output)).add("samples", json_number(c.samples));
  out.add("same_type", json_bool(d.same_type)).add("bits_equal", json_bool(d.bits_equal));
  out.add("max_abs", json_number(d.max_abs)).add("max_rel", json_number(d.max_rel));
  out.add("sqnr_db", json_number(d.sqnr_db)).add("misses", json_number(d.misses));
  out.add("worst_sample", json_number(c.worst_sample));
  out.add("worst_sqnr_db", json_number(c.worst_sqnr_db));
  if (c.top1) {
    out.add("top1", JsonObject()
                        .add("same", json_number(c.top1->same))
                        .add("rows", json_number(c.top1->rows))
                        .line());
  }
  return out.add("judged", json_bool(c.judged)).add("ok", json_bool(c.ok)).line();
}

}  // namespace

std::string str(const Validation& v) {
  std::string out = v.samples == 1 ? one_run(v) : many_runs(v);
  for (const LayerDifference& l : v.layers) {
    out += fmt::format("first layer where {} parts from the interpreter: {} ({}), max abs {:.3g}\n",
                       l.target, shown(l.layer), l.op, l.difference.max_abs);
  }
  return out;
}

std::string json(const Validation& v, const std::string& model) {
  std::vector<std::string> comparisons, layers;
  for (const Comparison& c : v.comparisons) comparisons.push_back(json(c));
  for (const LayerDifference& l : v.layers) {
    layers.push_back(JsonObject()
                         .add("target", json_string(l.target))
                         .add("layer", json_string(l.layer))
                         .add("op", json_string(l.op))
                         .add("max_abs", json_number(l.difference.max_abs))
                         .line());
  }
  return JsonObject()
      .add("model", json_string(model))
      .add("samples", json_number(v.samples))
      .add("ok", json_bool(v.ok))
      .add("comparisons", json_array(comparisons, true))
      .add("first_layers_that_differ", json_array(layers, true))
      .lines();
}

}  // namespace qc
