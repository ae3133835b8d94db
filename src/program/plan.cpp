#include "program/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

#include "program/arena_packing.h"
#include "program/liveness.h"
#include "program/schedule.h"
#include "program/share.h"
#include "program/state_in_place.h"

namespace qc {
namespace {

int64_t align_up(int64_t n, int64_t align) { return (n + align - 1) / align * align; }

void pack_arena(Program& program) {
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
  program.arena_bytes = pack_intervals(intervals, program.arena_align, arena_lower_bound(program));
  for (size_t i = 0; i < owner.size(); ++i) program.buffers[owner[i]].offset = intervals[i].offset;
}

/// The largest of some sizes; an expression only where it depends on the free sizes which it is.
/// Halves are compared first, so that no expression nests deeply.
Dim largest(const SymbolBounds& symbols, std::span<const Dim> sizes) {
  if (sizes.empty()) return 0;
  if (sizes.size() == 1) return sizes[0];
  const size_t half = sizes.size() / 2;
  const Dim a = largest(symbols, sizes.first(half)), b = largest(symbols, sizes.subspan(half));
  const Bounds more = (a - b).bounds(symbols);
  return more.min >= 0 ? a : more.max <= 0 ? b : max(a, b);
}

bool live_together(const LiveRange& a, const LiveRange& b) {
  return a.first <= b.last && b.first <= a.last;
}

/// Times at which some buffer is live.
class LiveTimes {
 public:
  bool meet(const LiveRange& r) const {
    const auto after = spans_.upper_bound(r.last);
    return after != spans_.begin() && std::prev(after)->second >= r.first;
  }
  void add(LiveRange r) {
    for (auto after = spans_.upper_bound(r.last);
         after != spans_.begin() && std::prev(after)->second >= r.first;) {
      const auto met = std::prev(after);
      r.first = std::min(r.first, met->first);
      r.last = std::max(r.last, met->second);
      after = spans_.erase(met);
    }
    spans_[r.first] = r.last;
  }

 private:
  using Time = decltype(LiveRange::first);
  std::map<Time, Time> spans_;  // disjoint, from the first time to the last
};

/// Where buffers end that another one must lie above: of `below`, which are in ascending order and
/// live while it does, those that no later one lies above, each end once.
Dims ends_of(const Program& program, const Liveness& live, const std::vector<size_t>& below) {
  const Dim align = program.arena_align;
  LiveTimes later;
  Dims out;
  for (size_t m = below.size(); m-- > 0;) {
    const LiveRange& own = live.ranges[below[m]];
    const bool covered = later.meet(own);
    later.add(own);
    if (covered) continue;
    const Buffer& b = program.buffers[below[m]];
    const Dim end = b.offset + ceildiv(b.bytes, align) * align;
    if (std::find(out.begin(), out.end(), end) == out.end()) out.push_back(end);
  }
  return out;
}

/// A name that no dimension, scalar or place has.
std::string fresh_symbol(const Program& program) {
  for (size_t n = program.arena_symbols.size();; ++n) {
    std::string name = fmt::format("at{}", n);
    const bool taken =
        std::ranges::any_of(program.dims, [&](const FreeDim& d) { return d.name == name; }) ||
        std::ranges::any_of(program.scalars, [&](const Scalar& s) { return s.symbol == name; }) ||
        std::ranges::any_of(program.arena_symbols,
                            [&](const ArenaSymbol& p) { return p.symbol == name; });
    if (!taken) return name;
  }
}

/// Moves buffers of free sizes down as far as those below them allow that live at the same time.
/// The order of places stays, so nothing can overlap and the largest sizes need no more.
void follow_sizes(Program& program) {
  const Liveness live = liveness(program);
  std::vector<size_t> order;
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& b = program.buffers[i];
    if (b.kind == BufferKind::arena && b.alias_of < 0 && !live.ranges[i].empty())
      order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return program.buffers[a].offset.value() < program.buffers[b].offset.value();
  });
  SymbolBounds symbols = program.symbol_bounds();
  for (size_t n = 0; n < order.size(); ++n) {
    Buffer& b = program.buffers[order[n]];
    std::vector<size_t> below;
    for (size_t m = 0; m < n; ++m) {
      if (live_together(live.ranges[order[m]], live.ranges[order[n]])) below.push_back(order[m]);
    }
    Dim offset = largest(symbols, ends_of(program, live, below));
    if (offset.is_static()) {
      b.offset = offset;
      continue;
    }
    // Named, so that what lies above does not repeat the expression.
    const auto known = std::find_if(program.arena_symbols.begin(), program.arena_symbols.end(),
                                    [&](const ArenaSymbol& p) { return p.value == offset; });
    if (known != program.arena_symbols.end()) {
      b.offset = Dim::symbol(known->symbol);
      continue;
    }
    const std::string name = fresh_symbol(program);
    symbols[name] = offset.bounds(symbols);
    b.offset = Dim::symbol(name);
    program.arena_symbols.push_back({name, std::move(offset)});
  }
}

void share_storage(Program& program, const Sharing& share) {
  if (share.states) update_states_in_place(program);
  if (share.copies) elide_copies(program);
  if (share.in_place) share_in_place(program);
}

/// The bytes that the arena of a program takes, once planned.
int64_t arena_of(Program program, const Sharing& share) {
  share_storage(program, share);
  pack_arena(program);
  return program.arena_bytes;
}

void pack_states(Program& program) {
  program.state_bytes = 0;
  for (Buffer& b : program.buffers) {
    if (b.kind != BufferKind::state || b.alias_of >= 0) continue;
    b.offset = program.state_bytes;
    program.state_bytes += align_up(b.size(), program.arena_align);
  }
}

}  // namespace

void reorder_steps(Program& program, const Sharing& share) {
  const auto order = low_peak_order(program);
  if (!order) return;
  Program other = program;
  for (size_t i = 0; i < order->size(); ++i)
    other.steps[i] = program.steps[static_cast<size_t>((*order)[i])];
  if (arena_of(other, share) < arena_of(program, share)) program = std::move(other);
}

void assign_offsets(Program& program, bool smallest) {
  pack_arena(program);
  if (smallest && !program.dims.empty()) follow_sizes(program);
  pack_states(program);
}

void plan(Program& program, const PlanOptions& options) {
  if (options.reorder) reorder_steps(program, options.share);
  share_storage(program, options.share);
  assign_offsets(program, options.smallest);
}

}  // namespace qc
