// Which steps of a program need floats: what code without them may call.
#pragma once

#include <string>
#include <vector>

#include "program/program.h"

namespace qc {

/// Whether a call reads, writes or computes with floats. Rescaling by integers (`q31`) does not.
bool needs_floats(const Call& call);

/// Names of the steps that do, with the kernel of each.
std::vector<std::string> float_steps(const Program& program);

}  // namespace qc
