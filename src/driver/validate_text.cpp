#include <fmt/format.h>

#include <cmath>

#include "driver/tally.h"
#include "driver/validate.h"
#include "support/counted.h"
#include "support/escape.h"
#include "support/json_text.h"
#include "support/layer_names.h"
#include "support/wrap.h"

namespace qc {
namespace {

std::string decibels(const Difference& d) {
  return d.bits_equal || std::isinf(d.sqnr_db) ? "inf" : fmt::format("{:.1f}", d.sqnr_db);
}

std::string verdict(const Comparison& c) { return !c.ok ? "FAIL" : c.judged ? "ok" : "-"; }

std::string top1(const Comparison& c) {
  return c.top1 ? fmt::format("{:.2f}", c.top1->percent()) : "-";
}

/// What the logits are worth, what failed, and that nothing was judged where there is no bar.
std::string remarks(const Validation& v) {
  std::string out;
  bool unjudged = false;
  for (const Comparison& c : v.comparisons) {
    unjudged = unjudged || !c.judged;
    if (c.perplexity)
      out += fmt::format("perplexity of '{}' over {}: {:.4f} ({}), {:.4f} ({})\n", shown(c.output),
                         counted(static_cast<size_t>(c.perplexity->tokens), "token"),
                         c.perplexity->got, c.got, c.perplexity->want, c.want);
  }
  for (const std::string& line : failures(v)) out += wrapped("FAIL: ", line, 100);
  if (unjudged)
    out += "- : no bar was given (--min-sqnr, --min-top1, --max-perplexity, --atol, --rtol)\n";
  return out;
}

/// One run: an output in a line.
std::string one_run(const Validation& v) {
  std::string out = fmt::format("{:<16}{:<13}{:<20}{:>10}{:>9}{:>9}{:>12}  {}\n", "run", "against",
                                "output", "max abs", "SQNR dB", "top-1 %", "bits equal", "verdict");
  for (const Comparison& c : v.comparisons) {
    const Difference& d = c.difference;
    const std::string name = clipped(shown(c.output), 18);
    out += fmt::format("{:<16}{:<13}{:<20}", c.got, c.want, name);
    out += d.same_type ? fmt::format("{:>10.3g}{:>9}{:>9}{:>12}", d.max_abs, decibels(d), top1(c),
                                     d.bits_equal ? "yes" : "no")
                       : fmt::format("{:>40}", "another type or shape");
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
      out += fmt::format("{:>9.3g}{:>9}{:>9}{:>14}{:>7}", d.max_abs, decibels(d), top1(c), worst,
                         d.bits_equal ? "yes" : "no");
    } else {
      out +=
          fmt::format("{:>48}", fmt::format("another type or shape (sample {})", c.worst_sample));
    }
    out += "  " + verdict(c) + "\n";
  }
  out += fmt::format("{} samples; worst sample: its number from 0 and its SQNR in dB\n", v.samples);
  for (const SampleSet& set : v.sets) {
    out += set.count == 1 ? fmt::format("sample {}", set.first)
                          : fmt::format("samples {} to {}", set.first, set.first + set.count - 1);
    out += fmt::format(": {}\n", set.sizes.empty() ? "sizes of the model" : shown(set.sizes));
  }
  return out;
}

/// How far layers are from a reference, in order, and the first that is bad.
std::string layer_table(const Validation& v, const std::string& against) {
  std::string out;
  for (const LayerComparison& l : v.layers) {
    if (l.against != against) continue;
    if (out.empty()) {
      out = fmt::format("\n{:<48}{:<14}{:>9}{:>10}{:>12}\n", "layer against " + against, "op",
                        "SQNR dB", "cosine", "max error");
    }
    const std::string name = shown(l.name());
    if (name.size() > 46) out += name_lines(name, 100);
    out += fmt::format("{:<48}{:<14}", name.size() > 46 ? "" : name, clipped(l.op, 12));
    if (l.error) {
      const double db = l.error->sqnr_db();
      out += fmt::format("{:>9}{:>10.5f}{:>12.3g}\n",
                         std::isfinite(db) ? fmt::format("{:.1f}", db)
                         : db > 0          ? "inf"
                                           : "-inf",
                         l.error->cosine(), l.error->max_abs);
    } else {
      out += fmt::format("{:>31}\n", "not compared");
    }
  }
  if (out.empty()) return out;
  for (const LayerComparison& bad : first_bad(v)) {
    if (bad.against != against) continue;
    return out + fmt::format("first layer below {:g} dB of {}: {} ({}), {:.1f} dB\n", v.bad_db,
                             against, shown(bad.name()), bad.op, bad.error->sqnr_db());
  }
  return out + fmt::format("no layer is below {:g} dB of {}\n", v.bad_db, against);
}

JsonObject object_of(const LayerComparison& l) {
  JsonObject out;
  out.add("against", json_string(l.against)).add("names", json_strings(l.names));
  out.add("op", json_string(l.op)).add("result", json_number(static_cast<int64_t>(l.result)));
  out.add("compared", json_bool(l.error.has_value()));
  if (l.error) {
    out.add("sqnr_db", json_number(l.error->sqnr_db()));
    out.add("cosine", json_number(l.error->cosine()));
    out.add("max_abs", json_number(l.error->max_abs));
  }
  return out;
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
  if (const auto& p = c.perplexity) {
    out.add("perplexity", JsonObject()
                              .add("got", json_number(p->got))
                              .add("want", json_number(p->want))
                              .add("tokens", json_number(p->tokens))
                              .line());
  }
  out.add("failed", json_strings(c.failed));
  return out.add("judged", json_bool(c.judged)).add("ok", json_bool(c.ok)).line();
}

}  // namespace

std::string str(const Validation& v) {
  std::string out = (v.samples == 1 ? one_run(v) : many_runs(v)) + remarks(v);
  for (const std::string against : {kExpected, kFloats}) out += layer_table(v, against);
  for (const LayerDifference& l : v.parting) {
    out += fmt::format("first layer where {} parts from the interpreter: {} ({}), max abs {:.3g}\n",
                       l.target, shown(l.layer), l.op, l.difference.max_abs);
  }
  return out;
}

std::string json(const Validation& v, const std::string& model) {
  std::vector<std::string> comparisons, parting, layers, bad;
  for (const Comparison& c : v.comparisons) comparisons.push_back(json(c));
  for (const LayerComparison& l : v.layers) layers.push_back(object_of(l).line());
  for (const LayerComparison& l : first_bad(v))
    bad.push_back(object_of(l).add("below_db", json_number(v.bad_db)).line());
  for (const LayerDifference& l : v.parting) {
    parting.push_back(JsonObject()
                          .add("target", json_string(l.target))
                          .add("layer", json_string(l.layer))
                          .add("op", json_string(l.op))
                          .add("max_abs", json_number(l.difference.max_abs))
                          .line());
  }
  std::vector<std::string> sets;
  for (const SampleSet& set : v.sets) {
    sets.push_back(JsonObject()
                       .add("first", json_number(set.first))
                       .add("count", json_number(set.count))
                       .add("sizes", json_string(set.sizes))
                       .line());
  }
  return JsonObject()
      .add("model", json_string(model))
      .add("samples", json_number(v.samples))
      .add("sets", json_array(sets, true))
      .add("ok", json_bool(v.ok))
      .add("comparisons", json_array(comparisons, true))
      .add("first_layers_that_differ", json_array(parting, true))
      .add("layers", json_array(layers, true))
      .add("first_bad_layers", json_array(bad, true))
      .lines();
}

}  // namespace qc
