#include "tests/fuzz/exercise.h"

#include "driver/arrays.h"
#include "driver/compile.h"
#include "interp/interpreter.h"
#include "ops/loop/loop.h"
#include "program/run.h"

namespace qc {
namespace {

constexpr double kMaxWork = 4e6;  // elements and multiply-accumulates of one run

/// Trips the loop can take at most, as far as it is known before it runs.
double trips(const Loop& loop) {
  const Value* limit = loop.input(0);
  const auto known = limit ? known_ints(limit) : std::nullopt;
  return known && (*known)[0].is_static() ? static_cast<double>((*known)[0].value()) : kMaxWork;
}

/// An upper bound, roughly, of what a run computes.
double work(const Graph& graph) {
  double total = 0;
  auto add = [&](const Type& type) {
    double elements = 1;
    for (const Dim& d : type.shape) {
      elements *= d.is_static() ? static_cast<double>(d.value()) : kMaxWork;
    }
    total += elements;
  };
  for (const Value* v : graph.inputs()) add(v->type());
  for (const Node* n = graph.first(); n; n = n->next()) {
    for (size_t i = 0; i < n->output_count(); ++i) add(n->output(i)->type());
    if (total > kMaxWork) return total;  // macs() is meant for sizes that can be run
    total += static_cast<double>(n->macs());
    const auto* loop = dynamic_cast<const Loop*>(n);
    for (const auto& region : n->regions()) total += work(*region) * (loop ? trips(*loop) : 1);
  }
  return total;
}

}  // namespace

Result<Ok> exercise(Graph& graph) {
  Options options;
  options.target = "portable";
  options.verify = true;
  for (const std::string& symbol : graph.symbols()) {
    auto range = graph.dim_ranges.find(symbol);
    const bool known = range != graph.dim_ranges.end();
    options.dims[symbol] =
        known ? range->second.hint.value_or(std::max<int64_t>(range->second.min, 2)) : 2;
  }
  QC_TRY(make_contract(graph, options));
  const bool runs = work(graph) <= kMaxWork;
  std::vector<Tensor> inputs;
  Result<RunResult> expected = RunResult{};
  if (runs) {
    QC_ASSIGN(inputs, random_inputs(graph, 1));
    expected = interpret(graph, inputs);
  }
  QC_ASSIGN(Program program, make_program(graph, options));
  if (!runs) return Ok{};
  // A program clamps indices that the interpreter refuses, so it runs whatever the answer was.
  QC_ASSIGN(ProgramResult result, run_program(program, inputs));
  if (!expected.ok()) return std::move(expected).diag();
  for (size_t i = 0; i < result.outputs.size(); ++i) {
    if (!result.outputs[i].identical(expected->outputs[i])) {
      return error(Code::bug, Loc{graph.file, {}, {}}, "output {} differs from the interpreter's",
                   i);
    }
  }
  return Ok{};
}

}  // namespace qc
