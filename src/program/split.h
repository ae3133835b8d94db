// Splits large calls among threads.
#pragma once

#include "program/program.h"

namespace qc {

/// Multiply-accumulates from which on threads are worth their waking.
constexpr int64_t kLeastParallelMacs = 1 << 20;

/// Whether no parameter depends on free dimensions.
bool is_static(const Call& call);
/// Units of a call that has a body and is static; 1 where it cannot be split.
int64_t units_of(const Call& call);

/// The result that each unit of a kernel's calls has for itself, -1 where none is: the name of the
/// unit then says "with" it. Only devices split such calls, which then have room for all units.
int scratch_of_units(const Signature& kernel);

/// Turns calls that have several units and at least `least_macs` into parallel steps; returns how
/// many. Products whose sizes are free are split however large they will be; their units are
/// counted when they run. From 0 on, all calls that have units are split.
int split(Program& program, int64_t least_macs = kLeastParallelMacs);

}  // namespace qc
