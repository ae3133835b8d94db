// Calls that signatures say to be stages move into the kernel call before them.
#pragma once

#include "program/program.h"

namespace qc {

/// A call whose kernel takes a stage, followed by a call that becomes this stage and perhaps by one
/// that joins it (`from` and `joined by` in kernels.sig), each the only reader of the value before:
///   conv(x, w, bias) -> (a);  add(a, r) -> (s);  clamp(s) -> (y)    becomes
///   conv(x, w, bias) | add_f32(residual=r) {lo, hi} -> (y)
/// The kernel does the same operations in the same order, codes being rounded before they are
/// added, so no bit changes.
void fuse_epilogues(Program& program);

}  // namespace qc
