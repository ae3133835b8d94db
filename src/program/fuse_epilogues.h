// Residual additions and clamps move into the kernel call before them.
#pragma once

#include "program/program.h"

namespace qc {

/// A call whose kernel takes a residual (its last input; its parameter struct ends with members rlo
/// and rhi for floats, r_kind and on for codes), followed by a flat addition of its result and by a
/// clamp, each the only reader of the value before:
///   conv(x, w, b, _) -> (a);  add(a, r) -> (s);  clamp(s) -> (y)    becomes
///   conv(x, w, b, r) -> (y) {rlo, rhi}
/// The kernel does the same operations in the same order, codes being rounded before they are
/// added, so no bit changes.
void fuse_epilogues(Program& program);

}  // namespace qc
