#include "program/plan.h"

#include <algorithm>
#include <optional>

#include "program/liveness.h"
#include "program/place.h"
#include "program/schedule.h"
#include "program/share.h"
#include "program/state_in_place.h"

namespace qc {
namespace {

int64_t align_up(int64_t n, int64_t align) { return (n + align - 1) / align * align; }

void place_arena(Program& program) {
  const Liveness live = liveness(program);
  const std::vector<int64_t> sizes = program.largest_sizes();
  std::vector<Interval> intervals;
  std::vector<size_t> owner;
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    Buffer& b = program.buffers[i];
    if (b.kind != BufferKind::arena || b.alias_of >= 0) continue;
    if (live.ranges[i].empty()) {
      b.offset = 0;  // nothing touches it
      b.bytes = 0;
      continue;
    }
    intervals.push_back({live.ranges[i].first, live.ranges[i].last, sizes[i]});
    owner.push_back(i);
  }
  program.arena_bytes = place(intervals, program.arena_align, arena_lower_bound(program));
  for (size_t i = 0; i < owner.size(); ++i) program.buffers[owner[i]].offset = intervals[i].offset;
}

void share_and_place(Program& program, const PlanOptions& options) {
  if (options.share) {
    keep_states_in_place(program);
    elide_copies(program);
    share_in_place(program);
  }
  place_arena(program);
}

void place_states(Program& program) {
  program.state_bytes = 0;
  for (Buffer& b : program.buffers) {
    if (b.kind != BufferKind::state || b.alias_of >= 0) continue;
    b.offset = program.state_bytes;
    program.state_bytes += align_up(b.size(), program.arena_align);
  }
}

}  // namespace

void plan(Program& program, const PlanOptions& options) {
  std::optional<Program> other;
  if (options.reorder) {
    if (auto order = low_peak_order(program)) {
      other = program;
      for (size_t i = 0; i < order->size(); ++i)
        other->steps[i] = program.steps[static_cast<size_t>((*order)[i])];
      share_and_place(*other, options);
    }
  }
  share_and_place(program, options);
  if (other && other->arena_bytes < program.arena_bytes) program = std::move(*other);
  place_states(program);
}

}  // namespace qc
