// Residual additions and clamps move into the kernel call before them.
#pragma once

#include "program/program.h"

namespace qc {

/// A call whose kernel takes the stage `add_f32` (floats) or `add` (codes), followed by a flat
/// addition of its result and, of floats, by a clamp, each the only reader of the value before:
///   conv(x, w, bias) -> (a);  add(a, r) -> (s);  clamp(s) -> (y)    becomes
///   conv(x, w, bias) | add_f32(residual=r) {rlo, rhi} -> (y)
/// The kernel does the same operations in the same order, codes being rounded before they are
/// added, so no bit changes.
void fuse_epilogues(Program& program);

}  // namespace qc
