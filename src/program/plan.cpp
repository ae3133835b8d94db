#include "program/plan.h"

#include <algorithm>
#include <optional>

#include "program/liveness.h"
#include "program/place.h"
#include "program/schedule.h"
#include "program/share.h"

namespace qc {
namespace {

int64_t align_up(int64_t n, int64_t align) { return (n + align - 1) / align * align; }

void place_arena(std::span<Program> programs) {
  const Liveness live = liveness(programs.back());
  std::vector<int64_t> largest(programs.back().buffers.size(), 0);
  for (Program& program : programs) {
    for (size_t i = 0; i < largest.size(); ++i) {
      Buffer& b = program.buffers[i];
      if (b.kind == BufferKind::arena && b.alias_of < 0 && live.ranges[i].empty()) {
        b.offset = 0;  // nothing touches it
        b.bytes = 0;
      }
      largest[i] = std::max(largest[i], b.size());
    }
  }
  std::vector<Interval> intervals;
  std::vector<size_t> owner;
  for (size_t i = 0; i < largest.size(); ++i) {
    const Buffer& b = programs.back().buffers[i];
    if (b.kind != BufferKind::arena || b.alias_of >= 0 || live.ranges[i].empty()) continue;
    intervals.push_back({live.ranges[i].first, live.ranges[i].last, largest[i]});
    owner.push_back(i);
  }
  int64_t bound = 0;
  for (const Program& program : programs) bound = std::max(bound, arena_lower_bound(program));
  const int64_t bytes = place(intervals, programs.back().arena_align, bound);
  for (Program& program : programs) {
    program.arena_bytes = bytes;
    for (size_t i = 0; i < owner.size(); ++i)
      program.buffers[owner[i]].offset = intervals[i].offset;
  }
}

void share_and_place(std::span<Program> programs, const PlanOptions& options) {
  if (options.share) {
    elide_copies(programs);
    share_in_place(programs);
  }
  place_arena(programs);
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

void plan(Program& program, const PlanOptions& options) { plan(std::span(&program, 1), options); }

void plan(std::span<Program> programs, const PlanOptions& options) {
  std::vector<Program> others;
  if (options.reorder) {
    if (auto order = low_peak_order(programs.back())) {
      others.assign(programs.begin(), programs.end());
      for (size_t p = 0; p < programs.size(); ++p) {
        for (size_t i = 0; i < order->size(); ++i)
          others[p].steps[i] = programs[p].steps[static_cast<size_t>((*order)[i])];
      }
      share_and_place(others, options);
    }
  }
  share_and_place(programs, options);
  if (!others.empty() && others.back().arena_bytes < programs.back().arena_bytes)
    std::move(others.begin(), others.end(), programs.begin());
  for (Program& program : programs) place_states(program);
}

}  // namespace qc
