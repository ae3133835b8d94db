// Splits large calls among threads.
#pragma once

#include <span>

#include "program/program.h"

namespace qc {

/// Multiply-accumulates from which on threads are worth their waking.
constexpr int64_t kLeastParallelMacs = 1 << 20;

/// Units of a call that has a body; 1 where it cannot be split.
int64_t units_of(const Call& call);

/// Turns calls that have several units and at least `least_macs` into parallel steps; returns how
/// many. The programs, whose kernels are selected, differ in numbers only (same_structure): a step
/// that is split in one of them is split in all, so that they still do.
int split(std::span<Program> programs, int64_t least_macs = kLeastParallelMacs);

}  // namespace qc
