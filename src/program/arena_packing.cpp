#include "program/arena_packing.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace qc {
namespace {

using Order = std::vector<size_t>;

/// Places intervals one after the other at the lowest offset where they fit.
int64_t first_fit(std::vector<Interval>& all, const Order& order, int64_t give_up) {
  std::vector<size_t> packed;  // sorted by offset
  int64_t size = 0;
  for (size_t i : order) {
    Interval& x = all[i];
    int64_t at = 0;
    for (size_t j : packed) {
      const Interval& y = all[j];
      if (y.last < x.first || y.first > x.last) continue;
      if (at + x.bytes <= y.offset) break;
      at = std::max(at, y.offset + y.bytes);
    }
    x.offset = at;
    size = std::max(size, at + x.bytes);
    if (size >= give_up) return size;
    auto by_offset = [&](size_t a, size_t b) { return all[a].offset < all[b].offset; };
    packed.insert(std::upper_bound(packed.begin(), packed.end(), i, by_offset), i);
  }
  return size;
}

/// One sweep over time with a list of free blocks: for programs too long for the quadratic search.
int64_t sweep(std::vector<Interval>& all) {
  Order starts(all.size()), ends(all.size());
  std::iota(starts.begin(), starts.end(), 0);
  ends = starts;
  std::stable_sort(starts.begin(), starts.end(), [&](size_t a, size_t b) {
    return all[a].first != all[b].first ? all[a].first < all[b].first : all[a].bytes > all[b].bytes;
  });
  std::stable_sort(ends.begin(), ends.end(),
                   [&](size_t a, size_t b) { return all[a].last < all[b].last; });
  std::map<int64_t, int64_t> free_blocks;  // offset -> bytes, below `size`
  int64_t size = 0;
  size_t next_end = 0;
  for (size_t i : starts) {
    Interval& x = all[i];
    while (next_end < ends.size() && all[ends[next_end]].last < x.first) {
      const Interval& done = all[ends[next_end++]];
      auto it = free_blocks.emplace(done.offset, done.bytes).first;
      if (auto after = std::next(it);
          after != free_blocks.end() && it->first + it->second == after->first) {
        it->second += after->second;
        free_blocks.erase(after);
      }
      if (it != free_blocks.begin()) {
        if (auto before = std::prev(it); before->first + before->second == it->first) {
          before->second += it->second;
          free_blocks.erase(it);
        }
      }
    }
    auto best = free_blocks.end();
    for (auto it = free_blocks.begin(); it != free_blocks.end(); ++it) {
      if (it->second >= x.bytes && (best == free_blocks.end() || it->second < best->second))
        best = it;
    }
    if (best != free_blocks.end()) {
      x.offset = best->first;
      const int64_t left = best->second - x.bytes;
      free_blocks.erase(best);
      if (left > 0) free_blocks.emplace(x.offset + x.bytes, left);
      continue;
    }
    // Grow, taking over a free block at the top.
    int64_t at = size;
    if (!free_blocks.empty()) {
      auto top = std::prev(free_blocks.end());
      if (top->first + top->second == size) {
        at = top->first;
        free_blocks.erase(top);
      }
    }
    x.offset = at;
    size = at + x.bytes;
  }
  return size;
}

/// A small deterministic generator, so that plans are the same everywhere.
struct Random {
  uint64_t state = 0x9e3779b97f4a7c15u;
  uint64_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  }
};

}  // namespace

int64_t pack_intervals(std::vector<Interval>& intervals, int64_t align, int64_t lower_bound) {
  for (Interval& x : intervals) x.bytes = (x.bytes + align - 1) / align * align;
  std::vector<Interval> best = intervals;
  int64_t best_size = sweep(best);
  constexpr size_t kSearchLimit = 3000;
  if (best_size > lower_bound && intervals.size() <= kSearchLimit) {
    std::vector<Interval> trial = intervals;
    auto attempt = [&](const Order& order) {
      const int64_t size = first_fit(trial, order, best_size);
      if (size < best_size) {
        best_size = size;
        best = trial;
      }
    };
    Order order(intervals.size());
    std::iota(order.begin(), order.end(), 0);
    auto area = [&](size_t i) {
      return intervals[i].bytes * (intervals[i].last - intervals[i].first + 1);
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return intervals[a].bytes > intervals[b].bytes; });
    attempt(order);
    Order by_area = order;
    std::stable_sort(by_area.begin(), by_area.end(),
                     [&](size_t a, size_t b) { return area(a) > area(b); });
    attempt(by_area);
    // Local search: swap two neighbours-in-priority at random, keep what does not get worse.
    Random random;
    Order current = order;
    int64_t current_size = first_fit(trial, current, INT64_MAX);
    const size_t tries = intervals.size() <= 64 ? 4000 : intervals.size() <= 512 ? 400 : 40;
    for (size_t t = 0; t < tries && best_size > lower_bound && current.size() > 1; ++t) {
      Order candidate = current;
      const size_t a = random.next() % candidate.size(), b = random.next() % candidate.size();
      std::swap(candidate[a], candidate[b]);
      const int64_t size = first_fit(trial, candidate, current_size + 1);
      if (size <= current_size) {
        current = std::move(candidate);
        current_size = size;
        if (size < best_size) {
          best_size = size;
          best = trial;
        }
      }
    }
  }
  intervals = std::move(best);
  return best_size;
}

}  // namespace qc
