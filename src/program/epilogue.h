// Epilogues: lists of stages, what kernels do with a result before they store it.
#pragma once

#include "program/params.h"

namespace qc {

/// A stage from one of the structs of kernels/epilogue/calls.h.
template <class StageCall>
Stage make_stage(const StageCall& call) {
  const Signature* kind = find_stage(StageCall::kName);
  return {kind, numbers(call), call.operand_views()};
}

/// Whether `stage` can be added at the end of the call's epilogue.
bool takes(const Call& call, std::string_view stage);

/// The call with its stages in its own parameters, where each has a struct, and with their operands
/// as its own of the same names: the way bodies take them.
void fold_epilogue(Call& call);

}  // namespace qc
