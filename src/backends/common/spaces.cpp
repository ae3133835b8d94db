#include "backends/common/spaces.h"

#include <fmt/format.h>

#include <algorithm>

#include "program/liveness.h"

namespace qc {
namespace {

/// Where steps compute: the arena and the weights lie there.
Space home(const Program& program) {
  const auto& all = program.buffers;
  return std::ranges::any_of(all, [](const Buffer& b) { return b.space == Space::device; })
             ? Space::device
             : Space::host;
}

}  // namespace

std::vector<SpaceStats> memory_of(const Module& module, const WeightMap& weights) {
  const Program& program = module.program();
  SpaceStats host, device;
  device.space = Space::device;
  SpaceStats& own = home(program) == Space::device ? device : host;
  own.arena_bytes = program.arena_bytes;
  own.state_bytes = program.state_bytes;
  own.weight_bytes = weights.bytes;
  if (&own == &device) {  // a run's part alone is there
    own.weight_bytes = 0;
    for (const Module::TargetProgram& compiled : module.programs)
      own.weight_bytes = std::max(own.weight_bytes, map_device_weights(compiled.program).bytes);
  }
  for (const Module::TargetProgram& compiled : module.programs)
    own.live_bytes = std::max(own.live_bytes, arena_lower_bound(compiled.program));
  for_each_step(program.steps, [&](const Step& s) {
    const CopyStep* copy = s.copy();
    if (!copy) return;
    const bool up = program.buffer(program.owner(copy->to.buffer)).space == Space::device;
    (up ? device : host).copied_bytes += program.largest(extent(copy->from));
  });
  std::vector<SpaceStats> out{host};
  if (&own == &device) out.push_back(device);
  return out;
}

std::string str(const SpaceStats& s) {
  return fmt::format(
      "{}: {} bytes of arena where {} are live together, {} of weights, {} of state, {} copied to "
      "it in a run",
      s.space == Space::device ? "device" : "host", s.arena_bytes, s.live_bytes, s.weight_bytes,
      s.state_bytes, s.copied_bytes);
}

}  // namespace qc
