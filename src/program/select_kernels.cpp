#include "program/select_kernels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace qc {
namespace {

Result<Ok> select(Steps& steps) {
  for (Step& step : steps) {
    if (auto* branch = std::get_if<BranchStep>(&step.op)) {
      QC_TRY(select(branch->body));
      QC_TRY(select(branch->otherwise));
    } else if (auto* loop = std::get_if<LoopStep>(&step.op)) {
      QC_TRY(select(loop->body));
    } else if (Call* call = step.call()) {
      call->body = portable_body(*call->kernel, call->select);
      if (!call->body) {
        return error(Code::bug, step.loc, "nothing computes '{}' of [{}]", call->kernel->name,
                     fmt::join(call->select, ", "));
      }
    }
  }
  return Ok{};
}

}  // namespace

Result<Ok> select_kernels(Program& program) { return select(program.steps); }

}  // namespace qc
