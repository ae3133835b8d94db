// States that are changed in place: what a run appends to a cache is written into the cache itself.
//
//   %1 = scatter(%state, at, x)  ->  scatter(%state, at, x) over %state
//   copy %1 to %state
//
// where the new state is made, call by call, over the old one, and nobody reads the old one after
// that. Branches, loops and copies between memories may stand beside these calls, not among them.
// Where sizes are free, it holds for all of them.
#pragma once

#include "program/program.h"

namespace qc {

void update_states_in_place(Program& program);

}  // namespace qc
