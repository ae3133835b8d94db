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

bool is_static(const Call& call) {
  return std::ranges::all_of(call.params, [](const Param& p) {
    return std::holds_alternative<float>(p) || std::get<Dim>(p).is_static();
  });
}

int64_t units_of(const Call& call) {
  if (!call.body || !call.body->units) return 1;
  return call.body->units(write_params(*call.kernel, call.params).data());
}

int scratch_of_units(const Signature& kernel) {
  constexpr std::string_view kWith = " with ";
  const size_t at = kernel.unit.find(kWith);
  return at == std::string::npos ? -1 : kernel.result(kernel.unit.substr(at + kWith.size()));
}

int split(Program& program, int64_t least_macs) {
  std::vector<Step*> steps;
  collect(program.steps, steps);
  int count = 0;
  for (Step* step : steps) {
    Call& call = *step->call();
    if (!call.body->units || scratch_of_units(*call.kernel) >= 0) continue;
    const bool free = !is_static(call);
    if (free ? call.macs == 0 && least_macs > 0 : call.macs < least_macs || units_of(call) < 2)
      continue;
    ++count;
    const Dim units = free ? Dim(0) : Dim(units_of(call));
    step->op = ParallelStep{std::move(call), units};
  }
  return count;
}

}  // namespace qc
