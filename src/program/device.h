// Programs for a device with memory of its own.
#pragma once

#include "program/program.h"

namespace qc {

/// Puts everything that steps read and write into the device's memory: arena, weights and state lie
/// there; inputs are copied to it before the steps and outputs back after them.
void move_to_device(Program& program);

}  // namespace qc
