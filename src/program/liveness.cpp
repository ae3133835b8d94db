#include "program/liveness.h"

#include <algorithm>

namespace qc {
namespace {

class Walker {
 public:
  explicit Walker(const Program& program) : program_(program) {
    out_.ranges.resize(program.buffers.size());
  }

  Liveness run() {
    walk(program_.steps);
    out_.steps = time_;
    return std::move(out_);
  }

 private:
  struct Access {
    int buffer;
    int time;
    bool write;
  };

  void touch(const View& view, bool write) {
    if (!view.present()) return;
    const int buffer = program_.owner(view.buffer);
    extend(buffer, time_);
    if (!loops_.empty()) accesses_.push_back({buffer, time_, write});
  }
  void extend(int buffer, int time) {
    LiveRange& r = out_.ranges[static_cast<size_t>(buffer)];
    if (r.empty()) r = {time, time};
    r.first = std::min(r.first, time);
    r.last = std::max(r.last, time);
  }

  void walk(const Steps& steps) {
    for (const Step& step : steps) {
      const BranchStep* branch = step.branch();
      const LoopStep* loop = step.loop();
      if (!branch && !loop) {
        for_each_view(step, [&](const View& v, bool write) { touch(v, write); });
        ++time_;
        continue;
      }
      const int begin = time_;
      const size_t mark = accesses_.size();
      loops_.push_back(begin);
      // The counter counts as read: it holds the trip number from the first step of a trip on.
      for_each_view(step, [&](const View& v, bool) { touch(v, false); });
      ++time_;
      walk(branch ? branch->body : loop->body);
      if (branch) walk(branch->otherwise);
      touch(branch ? branch->condition : loop->condition, false);
      const int end = time_++;
      loops_.pop_back();
      close(begin, end, mark, loop != nullptr);
    }
  }

  /// Extends what outlives one trip of the loop (or one arm of the branch) to all of it.
  void close(int begin, int end, size_t mark, bool is_loop) {
    std::vector<bool> seen(program_.buffers.size(), false);
    std::vector<int> whole;
    for (size_t i = mark; i < accesses_.size(); ++i) {
      const Access& a = accesses_[i];
      if (seen[static_cast<size_t>(a.buffer)]) continue;
      seen[static_cast<size_t>(a.buffer)] = true;
      const LiveRange& r = out_.ranges[static_cast<size_t>(a.buffer)];
      const bool outside = r.first < begin;
      if (outside || (is_loop && !a.write))
        whole.push_back(a.buffer);
      else
        pending_.push_back({a.buffer, begin, end});
    }
    for (int buffer : whole) {
      extend(buffer, begin);
      extend(buffer, end);
    }
    if (loops_.empty()) accesses_.clear();
  }

 public:
  /// Buffers first written inside a loop but read after it live from the loop's start: an earlier
  /// trip may already have stored what is read later.
  void finish(Liveness& l) const {
    for (const Pending& p : pending_) {
      LiveRange& r = l.ranges[static_cast<size_t>(p.buffer)];
      if (r.last > p.end) r.first = std::min(r.first, p.begin);
    }
  }

 private:
  struct Pending {
    int buffer, begin, end;
  };
  const Program& program_;
  Liveness out_;
  std::vector<int> loops_;
  std::vector<Access> accesses_;
  std::vector<Pending> pending_;
  int time_ = 0;
};

}  // namespace

Liveness liveness(const Program& program) {
  Walker walker(program);
  Liveness l = walker.run();
  walker.finish(l);
  return l;
}

int64_t arena_lower_bound(const Program& program) {
  const Liveness l = liveness(program);
  const std::vector<int64_t> sizes = program.largest_sizes();
  std::vector<int64_t> change(static_cast<size_t>(l.steps) + 2, 0);
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& b = program.buffers[i];
    const LiveRange& r = l.ranges[i];
    if (b.kind != BufferKind::arena || b.alias_of >= 0 || r.empty()) continue;
    const int64_t bytes = (sizes[i] + b.align - 1) / b.align * b.align;
    change[static_cast<size_t>(r.first)] += bytes;
    change[static_cast<size_t>(r.last) + 1] -= bytes;
  }
  int64_t live = 0, peak = 0;
  for (int64_t c : change) {
    live += c;
    peak = std::max(peak, live);
  }
  return peak;
}

}  // namespace qc
