// Which steps of a program need floats: what code without them may call.
#pragma once

#include <string>
#include <vector>

#include "program/program.h"

namespace qc {

/// Why a call needs floats: what it reads, writes or computes with them. Empty where it needs none;
/// rescaling by integers (`q31`) needs none.
std::string why_floats(const Call& call);

/// The steps that need them: their names, the kernel of each, and why.
std::vector<std::string> float_steps(const Program& program);

/// Whether one of the steps rescales in float and has a form that does it by integers.
bool rescales_in_float(const Program& program);

}  // namespace qc
