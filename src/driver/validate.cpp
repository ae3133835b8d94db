#include "driver/validate.h"

#include <fmt/format.h>

#include "driver/native.h"
#include "interp/interpreter.h"
#include "support/escape.h"

namespace qc {
namespace {

/// Builds the graph for the target and runs it.
Result<NativeResult> run_target(const Graph& graph, Options options, const std::string& target,
                                const std::vector<Tensor>& inputs, const BuildOptions& build) {
  options.target = target;
  QC_ASSIGN(const NativeModel native, NativeModel::build(graph, options, build));
  return native.run(inputs);
}

/// A copy whose outputs are the results of every node, with the nodes they belong to.
Result<std::unique_ptr<Graph>> tapped(const Graph& graph,
                                      std::vector<std::pair<std::string, std::string>>& layers) {
  QC_ASSIGN(auto out, copy(graph));
  for (Node* n = out->first(); n; n = n->next()) {
    for (size_t i = 0; i < n->output_count(); ++i) {
      std::string name = fmt::format("{}", fmt::join(n->loc().names, "+"));
      out->add_output(fmt::format("tap{}", layers.size()), n->output(i));
      layers.emplace_back(std::move(name), std::string(n->op()));
    }
  }
  return out;
}

Result<Ok> compare_layers(const Graph& graph, const Options& options, const std::string& target,
                          const std::vector<Tensor>& inputs, const ValidateOptions& v,
                          Validation& out) {
  std::vector<std::pair<std::string, std::string>> layers;
  QC_ASSIGN(auto taps, tapped(graph, layers));
  QC_ASSIGN(RunResult reference, interpret(*taps, inputs));
  QC_ASSIGN(NativeResult native, run_target(*taps, options, target, inputs, v.build));
  const size_t first = graph.outputs().size();
  for (size_t i = 0; i < layers.size(); ++i) {
    Difference d = compare(native.outputs[first + i], reference.outputs[first + i], {});
    if (d.bits_equal) continue;
    out.layers.push_back({target, layers[i].first, layers[i].second, d});
    return Ok{};
  }
  return Ok{};
}

}  // namespace

Result<Validation> validate(const Graph& graph, const Options& options,
                            const std::vector<Tensor>& inputs, const std::vector<Tensor>* expected,
                            const ValidateOptions& v) {
  Validation out;
  auto add = [&](const char* got_name, const std::string& want_name, const std::vector<Tensor>& got,
                 const std::vector<Tensor>& want, bool exact) {
    for (size_t i = 0; i < want.size(); ++i) {
      Comparison c{got_name, want_name, graph.outputs()[i].name, compare(got[i], want[i], {}),
                   true};
      Tolerance tolerance;
      if (!exact) {
        tolerance.rtol = v.rtol;
        tolerance.atol = v.atol.value_or(1e-4 * c.difference.max_magnitude);
        c.difference = compare(got[i], want[i], tolerance);
      }
      c.ok = exact ? c.difference.bits_equal : c.difference.same_type && c.difference.within;
      out.ok = out.ok && c.ok;
      out.comparisons.push_back(std::move(c));
    }
  };
  QC_ASSIGN(RunResult reference, interpret(graph, inputs));
  if (expected) add("interpreter", "expected", reference.outputs, *expected, false);
  for (const std::string& target : v.targets) {
    QC_ASSIGN(NativeResult native, run_target(graph, options, target, inputs, v.build));
    if (expected) add(target.c_str(), "expected", native.outputs, *expected, false);
    add(target.c_str(), "interpreter", native.outputs, reference.outputs, true);
    if (v.per_layer) QC_TRY(compare_layers(graph, options, target, inputs, v, out));
  }
  return out;
}

std::string str(const Validation& v) {
  std::string out =
      fmt::format("{:<14}{:<14}{:<24}{:>12}{:>12}{:>10}{:>12}  {}\n", "run", "against", "output",
                  "max abs", "max rel", "SQNR dB", "bits equal", "verdict");
  for (const Comparison& c : v.comparisons) {
    const Difference& d = c.difference;
    const std::string name = clipped(shown(c.output), 22);
    if (!d.same_type) {
      out += fmt::format("{:<14}{:<14}{:<24}{:>46}  FAIL\n", c.got, c.want, name,
                         "another type or shape");
      continue;
    }
    out += fmt::format("{:<14}{:<14}{:<24}{:>12.3g}{:>12.3g}{:>10}{:>12}  {}\n", c.got, c.want,
                       name, d.max_abs, d.max_rel,
                       d.bits_equal ? std::string("inf") : fmt::format("{:.1f}", d.sqnr_db),
                       d.bits_equal ? "yes" : "no", c.ok ? "ok" : "FAIL");
  }
  for (const LayerDifference& l : v.layers) {
    out += fmt::format("first layer where {} parts from the interpreter: {} ({}), max abs {:.3g}\n",
                       l.target, shown(l.layer), l.op, l.difference.max_abs);
  }
  return out;
}

}  // namespace qc
