// Order of independent steps: fewer bytes alive together.
#pragma once

#include <optional>

#include "program/program.h"

namespace qc {

/// An order of the program's top-level steps that keeps every dependency and aims at a low peak of
/// live bytes: the best possible one for up to 14 steps, a greedy one beyond. Nullopt when the
/// program is too long to search or has only one order.
std::optional<std::vector<int>> low_peak_order(const Program& program);

}  // namespace qc
