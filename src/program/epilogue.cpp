#include "program/epilogue.h"

#include <algorithm>

namespace qc {

bool takes(const Call& call, std::string_view stage) {
  const auto& known = call.kernel->epilogue;
  const auto at = [&](std::string_view name) {
    return std::find(known.begin(), known.end(), name);
  };
  const auto wanted = at(stage);
  return wanted != known.end() &&
         (call.epilogue.empty() || at(call.epilogue.back().kind->name) < wanted);
}

void fold_epilogue(Call& call) {
  for (const Stage& stage : call.epilogue) {
    const Group& own = *call.kernel->group(stage.kind->params);
    std::ranges::copy(stage.params, call.params.begin() + static_cast<ptrdiff_t>(own.at));
    for (size_t i = 0; i < stage.in.size(); ++i) {
      const int operand = call.kernel->operand(stage.kind->in[i].name);
      call.in[static_cast<size_t>(operand)] = stage.in[i];
      if (stage.in_place && i == 0) call.in_place.emplace_back(operand, 0);
    }
  }
  call.epilogue.clear();
}

}  // namespace qc
