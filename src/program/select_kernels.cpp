#include "program/select_kernels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace qc {
namespace {

class Selector {
 public:
  Selector(Program& program, const Target& target, DerivedConstants& constants)
      : program_(program), target_(target), constants_(constants) {
    uses_.resize(program.buffers.size(), 0);
    for_each_step(program.steps, [&](const Step& s) {
      for_each_view(s, [&](const View& v, bool) {
        ++uses_[static_cast<size_t>(program_.owner(v.buffer))];
      });
    });
  }

  Result<Ok> run(Steps& steps) {
    Steps out;
    out.reserve(steps.size());
    for (Step& step : steps) {
      if (auto* branch = std::get_if<BranchStep>(&step.op)) {
        QC_TRY(run(branch->body));
        QC_TRY(run(branch->otherwise));
      } else if (auto* loop = std::get_if<LoopStep>(&step.op)) {
        QC_TRY(run(loop->body));
      } else if (Call* call = step.call()) {
        QC_TRY(select(*call, step.loc, out));
      }
      out.push_back(std::move(step));
    }
    steps = std::move(out);
    return Ok{};
  }

 private:
  Result<Ok> select(Call& call, const Loc& loc, Steps& before) {
    Steps packings;
    Binder binder(program_, constants_, uses_, packings);
    const Variant* best = nullptr;
    for (const Variant& v : all_variants()) {
      if (v.kernel != call.kernel->name || !target_.has(v.feature)) continue;
      if (best && best->cost <= v.cost) continue;
      if (v.refusal(call, binder).empty()) best = &v;
    }
    if (best) {
      QC_ASSIGN(call, best->bind(call, binder));
    }
    for (Step& step : packings) {
      step.loc = loc;
      QC_TRY(find(*step.call(), loc));
      before.push_back(std::move(step));
    }
    return find(call, loc);
  }

  Result<Ok> find(Call& call, const Loc& loc) const {
    call.body = find_body(*call.kernel, call.select);
    if (call.body && target_.has(call.body->machine)) return Ok{};
    return error(Code::bug, loc, "nothing computes '{}' of [{}] for target {}", call.kernel->name,
                 fmt::join(call.select, ", "), target_.name);
  }

  Program& program_;
  const Target& target_;
  DerivedConstants& constants_;
  std::vector<int> uses_;
};

}  // namespace

Result<Ok> select_kernels(Program& program, const Target& target, DerivedConstants& constants) {
  return Selector(program, target, constants).run(program.steps);
}

Result<Ok> select_kernels(Program& program) {
  DerivedConstants constants;
  return select_kernels(program, all_targets()[0], constants);
}

}  // namespace qc
