// Which calls of a Program take so little of a run's time that their code may be small instead of
// fast: positions, masks and tables that are worked out before the layers.
#pragma once

#include <set>

#include "program/program.h"

namespace qc {

/// Calls that together do at most a thousandth of the work at the largest sizes. Calls in branches
/// and loops are none of them, nor are others of the same body: how often they run is not known.
/// With `by_body` a body has all its calls among them or none.
std::set<const Call*> rare_calls(const Program& program, bool by_body);

}  // namespace qc
