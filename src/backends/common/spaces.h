// The memory that a module's runs take, space by space.
#pragma once

#include "backends/common/weights.h"

namespace qc {

/// What each memory space holds, the host's first; spaces without anything are left out.
std::vector<SpaceStats> memory_of(const Module& module, const WeightMap& weights);
/// "device: 4608 bytes of arena where at least 4352 are live together, 9472 of weights".
std::string str(const SpaceStats& stats);

}  // namespace qc
