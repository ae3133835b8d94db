#include "program/split.h"

#include <algorithm>

#include "program/params.h"

namespace qc {
namespace {

void collect(Steps& steps, std::vector<Step*>& out) {
  for (Step& step : steps) {
    if (auto* branch = std::get_if<BranchStep>(&step.op)) {
      collect(branch->body, out);
      collect(branch->otherwise, out);
    } else if (auto* loop = std::get_if<LoopStep>(&step.op)) {
      collect(loop->body, out);
    } else if (std::holds_alternative<Call>(step.op)) {
      out.push_back(&step);
    }
  }
}

}  // namespace

int64_t units_of(const Call& call) {
  if (!call.body || !call.body->units) return 1;
  return call.body->units(write_params(call).data());
}

int split(std::span<Program> programs, int64_t least_macs) {
  std::vector<std::vector<Step*>> steps(programs.size());
  for (size_t i = 0; i < programs.size(); ++i) collect(programs[i].steps, steps[i]);
  const auto is_large = [&](const Call& call) {
    return call.body->units && call.macs >= least_macs && units_of(call) > 1;
  };
  int count = 0;
  for (size_t at = 0; at < steps.front().size(); ++at) {
    if (std::ranges::none_of(steps, [&](const auto& list) { return is_large(*list[at]->call()); }))
      continue;
    ++count;
    for (const std::vector<Step*>& list : steps) {
      Call call = std::move(*list[at]->call());
      const Dim units = units_of(call);
      list[at]->op = ParallelStep{std::move(call), units};
    }
  }
  return count;
}

}  // namespace qc
