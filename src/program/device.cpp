#include "program/device.h"

#include <iterator>
#include <utility>

namespace qc {
namespace {

/// All bytes of a buffer.
View whole(const Program& program, int buffer) {
  View view;
  view.buffer = buffer;
  view.dims = {program.buffer(buffer).bytes};
  return view;
}

/// The port gets a buffer of its own on the host; the one that steps name becomes one of the
/// device's arena. The copy goes from one to the other.
Step copy_step(Program& program, Port& port, bool to_device) {
  const int device = port.buffer, host = static_cast<int>(program.buffers.size());
  Buffer own = program.buffer(device);
  own.space = Space::host;
  program.buffers.push_back(std::move(own));
  port.buffer = host;
  Buffer& arena = program.buffer(device);
  arena.kind = BufferKind::arena;
  arena.slot = -1;
  const View from = whole(program, to_device ? host : device);
  const View to = whole(program, to_device ? device : host);
  return {Loc{{}, {port.name}, {}}, CopyStep{from, to}};
}

}  // namespace

void move_to_device(Program& program) {
  for (Buffer& b : program.buffers) b.space = Space::device;
  Steps steps;
  for (Port& port : program.inputs) steps.push_back(copy_step(program, port, true));
  std::move(program.steps.begin(), program.steps.end(), std::back_inserter(steps));
  for (Port& port : program.outputs) steps.push_back(copy_step(program, port, false));
  program.steps = std::move(steps);
}

}  // namespace qc
