// Chooses what computes each call of a program.
#pragma once

#include "program/program.h"

namespace qc {

/// Gives every call its body. An error where nothing computes a call.
Result<Ok> select_kernels(Program& program);

}  // namespace qc
