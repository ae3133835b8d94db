// Branches that a run's sizes decide.
#pragma once

#include "program/program.h"

namespace qc {

/// The condition of a branch that is taken where `size` is not 0: an absent view whose offset is
/// that expression, so that whatever binds sizes binds it.
View decided_by(const Dim& size);
/// The size that decides a branch without a condition in memory.
inline const Dim& by_sizes(const BranchStep& branch) { return branch.condition.offset; }

/// Gives branches whose condition is computed from sizes alone that expression, so that whoever
/// starts the steps decides and reads no memory; steps that computed nothing else vanish.
void decide_by_sizes(Program& program);

}  // namespace qc
