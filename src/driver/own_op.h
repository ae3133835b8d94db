// Ops that are described while the program runs: the C text of their kernels is checked, completed,
// compiled by the compiler that is there, and added.
#pragma once

#include "ops/own/own.h"
#include "program/program.h"

namespace qc {

/// What a user writes of an op, besides its functions.
struct OwnText {
  std::string c;        // the body of a C function of the operands, the results and p
  std::string helpers;  // what stands in front of it
  std::string units;    // how many units there are, an expression of p; then texts are of one unit
  std::string cuda;     // instead of `c` for GPUs, which give a thread to each unit
  int stack = 1024;     // bytes that the body takes at most
  std::string quantizes;  // of a form on codes: the op in float, "example::peak_hold"
};

/// Adds an op with its kernel. `op.name` is "domain::name"; domain, members and kernel are set
/// here. Without a compiler ($CC, else cc) the kernel is in generated code only.
Result<Ok> define_own_op(OwnOp op, const OwnText& text);

/// Whether all such kernels of a program were compiled, so that it runs in process.
bool has_own_kernels_compiled(const Program& program);

}  // namespace qc
