// Residual additions and clamps move into the kernel call before them.
#pragma once

#include "program/program.h"

namespace qc {

/// A call whose kernel takes a residual (its parameter struct has members rlo and rhi; the residual
/// is its last input), followed by a flat addition of its result and by a clamp, each the only
/// reader of the value before:
///   conv(x, w, b, _) -> (a);  add(a, r) -> (s);  clamp(s) -> (y)    becomes
///   conv(x, w, b, r) -> (y) {rlo, rhi}
/// The kernel does the same float operations in the same order, so no bit changes.
void fuse_epilogues(Program& program);

}  // namespace qc
