#include "passes/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace qc {
namespace {

const std::vector<Pass> kPipeline = {};

Result<Ok> check_name(const std::string& name, bool disabling) {
  for (const Pass& pass : kPipeline) {
    if (pass.name != name) continue;
    if (disabling && pass.stage != PassStage::lower) {
      return error(Code::usage, "pass '{}' makes the contract graph and cannot be switched off", name);
    }
    return Ok{};
  }
  std::string known;
  for (const Pass& pass : kPipeline) known += (known.empty() ? "" : ", ") + std::string(pass.name);
  return error(Code::usage, "there is no pass '{}' (passes: {})", name, known);
}

Result<bool> run_everywhere(const Pass& pass, Graph& graph, PassContext& context) {
  QC_ASSIGN(bool changed, pass.run(graph, context));
  for (Node* n : graph.nodes()) {
    for (const auto& region : n->regions()) {
      QC_ASSIGN(bool inner, run_everywhere(pass, *region, context));
      changed = changed || inner;
    }
  }
  return changed;
}

}  // namespace

std::span<const Pass> pipeline() { return kPipeline; }

Result<Ok> run_passes(Graph& graph, const PassOptions& options, PassContext& context) {
  for (const std::string& name : options.disabled) QC_TRY(check_name(name, true));
  if (!options.stop_after.empty()) QC_TRY(check_name(options.stop_after, false));
  for (const Pass& pass : kPipeline) {
    if (pass.stage < options.first) continue;
    if (pass.stage > options.last) break;
    const auto& off = options.disabled;
    if (std::find(off.begin(), off.end(), pass.name) == off.end()) {
      const auto begin = std::chrono::steady_clock::now();
      QC_ASSIGN(bool changed, run_everywhere(pass, graph, context));
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
      if (options.verify) {
        if (auto checked = verify(graph); !checked.ok()) {
          Diag diag = std::move(checked).diag();
          diag.notes.push_back(fmt::format("after pass '{}'", pass.name));
          return diag;
        }
      }
      if (options.observe) options.observe(pass, changed, spent.count(), graph);
    }
    if (options.stop_after == pass.name) break;
  }
  return Ok{};
}

}  // namespace qc
