// Ops that are described while the program runs: the C text of their kernels is checked, completed,
// compiled by the compiler that is there, and added.
#pragma once

#include "ops/own/own.h"

namespace qc {

/// What a user writes of an op, besides its functions.
struct OwnText {
  std::string c;        // the body of a C function of the operands, the results and p
  std::string helpers;  // what stands in front of it
  std::string cuda;     // the body of one unit, of `unit` too; empty: one thread computes the call
  std::string units;    // how many units there are, an expression of p
  int stack = 1024;     // bytes that the body takes at most
  std::string form_of;  // of a form on codes: the op in float, "example::peak_hold"
};

/// Adds an op with its kernel; name, domain and members are set here. `op.name` is
/// "domain::name". Without a compiler (find_tool of $CC, else cc) the kernel is in generated code
/// only, and nothing runs it in process.
Result<Ok> define_own_op(OwnOp op, const OwnText& text);

/// Whether a kernel can run in process.
bool runs_in_process(const OwnOp& op);

}  // namespace qc
