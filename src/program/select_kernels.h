// Chooses what computes each call of a program.
#pragma once

#include "program/variant.h"

namespace qc {

/// Turns every call into one that has a body the target can run: of the variants of its kernel that
/// take it, the one of least cost. An error where there is none.
Result<Ok> select_kernels(Program& program, const Target& target, DerivedConstants& constants);
/// For the portable target.
Result<Ok> select_kernels(Program& program);

}  // namespace qc
