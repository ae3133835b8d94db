// Programs for a device with memory of its own.
#pragma once

#include "program/program.h"

namespace qc {

/// A call that the host computes between steps of a device, in a program that `move_to_device` put
/// there.
bool is_host_step(const Program& program, const Step& step);

/// "lstm for layer 'rnn' (4096 bytes to the host, 512 back)" for each such step.
std::vector<std::string> host_steps(const Program& program);

/// Puts everything that steps read and write into the device's memory: arena, weights and state lie
/// there; inputs are copied to it before the steps and outputs back after them. Calls whose body is
/// for all machines (others are parallel steps) stay with the host: what they read is copied to
/// buffers of their own there, what they write back.
void move_to_device(Program& program);

}  // namespace qc
