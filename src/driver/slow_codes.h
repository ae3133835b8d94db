// Products of codes that a target has no instructions of its own for.
#pragma once

#include <string>
#include <vector>

#include "program/program.h"
#include "target/target.h"

namespace qc {

/// A line where a fifth or more of the multiply-accumulates are of 16-bit codes and none of the
/// bodies that were selected for them uses the instructions that the target names. Targets that
/// name none, or run on a device, have nothing to be compared with.
std::vector<std::string> slow_codes(const Program& program, const Target& target);

}  // namespace qc
