#include "program/schedule.h"

#include <algorithm>

namespace qc {
namespace {

constexpr size_t kExactLimit = 14;
constexpr size_t kGreedyLimit = 5000;

/// What the search needs of each step: predecessors, and storage it makes and reads.
struct Task {
  std::vector<int> before;
  std::vector<int> makes, reads;  // storages of kind arena
};

struct Problem {
  std::vector<Task> tasks;
  std::vector<int64_t> bytes;  // by storage
  std::vector<int> readers;    // tasks that touch the storage
};

/// Copies at the ports stay where they are, before and after all other steps: code for a device
/// runs them apart from those.
void keep_port_copies(const Steps& steps, std::vector<Task>& tasks) {
  size_t first = 0, last = steps.size();
  while (first < steps.size() && steps[first].copy()) ++first;
  while (last > first && steps[last - 1].copy()) --last;
  for (size_t t = first; t < steps.size(); ++t) {
    const size_t from = t < last ? 0 : first, to = t < last ? first : last;
    for (size_t b = from; b < to; ++b) tasks[t].before.push_back(static_cast<int>(b));
  }
}

Problem describe(const Program& program) {
  Problem p;
  const size_t n = program.steps.size();
  p.tasks.resize(n);
  keep_port_copies(program.steps, p.tasks);
  p.bytes.resize(program.buffers.size());
  p.readers.resize(program.buffers.size());
  std::vector<int> writer(program.buffers.size(), -1);
  std::vector<std::vector<int>> readers(program.buffers.size());
  const std::vector<int64_t> sizes = program.largest_sizes();
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& b = program.buffers[i];
    p.bytes[i] = (sizes[i] + b.align - 1) / b.align * b.align;
  }
  for (size_t t = 0; t < n; ++t) {
    Task& task = p.tasks[t];
    auto visit = [&](const View& view, bool write) {
      const int storage = program.owner(view.buffer);
      const size_t s = static_cast<size_t>(storage);
      if (writer[s] >= 0) task.before.push_back(writer[s]);
      if (write) {
        for (int r : readers[s]) task.before.push_back(r);
        readers[s].clear();
        writer[s] = static_cast<int>(t);
      } else {
        readers[s].push_back(static_cast<int>(t));
      }
      if (program.buffers[s].kind != BufferKind::arena) return;
      auto& list = write ? task.makes : task.reads;
      if (std::find(list.begin(), list.end(), storage) == list.end()) list.push_back(storage);
    };
    for_each_step(std::span(&program.steps[t], 1), [&](const Step& s) { for_each_view(s, visit); });
    auto& b = task.before;
    std::sort(b.begin(), b.end());
    b.erase(std::unique(b.begin(), b.end()), b.end());
    std::erase(b, static_cast<int>(t));
    std::vector<int> touched = task.makes;
    for (int s : task.reads) {
      if (std::find(touched.begin(), touched.end(), s) == touched.end()) touched.push_back(s);
    }
    for (int s : touched) ++p.readers[static_cast<size_t>(s)];
  }
  return p;
}

/// Live bytes while tasks run one after the other.
class Live {
 public:
  explicit Live(const Problem& p) : p_(p), left_(p.readers), alive_(p.bytes.size(), false) {}
  /// Bytes alive during task t if it ran now, and after it.
  std::pair<int64_t, int64_t> cost(const Task& task) const {
    int64_t during = now_, after = now_;
    auto once = [&](int s, bool counted) {
      const size_t i = static_cast<size_t>(s);
      if (!alive_[i] && !counted) {
        during += p_.bytes[i];
        after += p_.bytes[i];
      }
      if (left_[i] == 1 && !counted) after -= p_.bytes[i];
    };
    for (int s : task.makes) once(s, false);
    for (int s : task.reads)
      once(s, std::find(task.makes.begin(), task.makes.end(), s) != task.makes.end());
    return {during, after};
  }
  void run(const Task& task) {
    now_ = cost(task).second;
    auto touch = [&](int s) {
      alive_[static_cast<size_t>(s)] = true;
      --left_[static_cast<size_t>(s)];
    };
    for (int s : task.makes) touch(s);
    for (int s : task.reads) {
      if (std::find(task.makes.begin(), task.makes.end(), s) == task.makes.end()) touch(s);
    }
  }

 private:
  const Problem& p_;
  std::vector<int> left_;
  std::vector<bool> alive_;
  int64_t now_ = 0;
};

std::vector<int> greedy(const Problem& p) {
  const size_t n = p.tasks.size();
  std::vector<int> waiting(n), order;
  std::vector<std::vector<int>> after(n);
  std::vector<int> ready;
  for (size_t t = 0; t < n; ++t) {
    waiting[t] = static_cast<int>(p.tasks[t].before.size());
    for (int b : p.tasks[t].before) after[static_cast<size_t>(b)].push_back(static_cast<int>(t));
    if (waiting[t] == 0) ready.push_back(static_cast<int>(t));
  }
  Live live(p);
  while (!ready.empty()) {
    size_t best = 0;
    std::pair<int64_t, int64_t> best_cost{INT64_MAX, INT64_MAX};
    for (size_t i = 0; i < ready.size(); ++i) {
      auto [during, rest] = live.cost(p.tasks[static_cast<size_t>(ready[i])]);
      const std::pair<int64_t, int64_t> cost{rest, during};
      if (cost < best_cost || (cost == best_cost && ready[i] < ready[best])) {
        best = i;
        best_cost = cost;
      }
    }
    const int t = ready[best];
    ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(best));
    live.run(p.tasks[static_cast<size_t>(t)]);
    order.push_back(t);
    for (int next : after[static_cast<size_t>(t)]) {
      if (--waiting[static_cast<size_t>(next)] == 0) ready.push_back(next);
    }
  }
  return order;
}

/// The least possible peak, over all orders: dynamic programming over sets of finished tasks.
std::vector<int> exact(const Problem& p) {
  const size_t n = p.tasks.size();
  const size_t sets = size_t{1} << n;
  std::vector<uint32_t> need(n, 0);
  for (size_t t = 0; t < n; ++t) {
    for (int b : p.tasks[t].before) need[t] |= 1u << b;
  }
  std::vector<uint32_t> touchers(p.bytes.size(), 0);
  for (size_t t = 0; t < n; ++t) {
    for (int s : p.tasks[t].makes) touchers[static_cast<size_t>(s)] |= 1u << t;
    for (int s : p.tasks[t].reads) touchers[static_cast<size_t>(s)] |= 1u << t;
  }
  std::vector<int64_t> peak(sets, INT64_MAX);
  std::vector<int8_t> last(sets, -1);
  peak[0] = 0;
  for (uint32_t done = 0; done < sets; ++done) {
    if (peak[done] == INT64_MAX) continue;
    for (size_t t = 0; t < n; ++t) {
      if ((done >> t & 1) || (need[t] & ~done)) continue;
      int64_t during = 0;  // storage begun and not finished before t, or touched by t
      const uint32_t with = done | 1u << t;
      for (size_t s = 0; s < touchers.size(); ++s) {
        if ((touchers[s] & with) && (touchers[s] & ~done)) during += p.bytes[s];
      }
      const int64_t value = std::max(peak[done], during);
      if (value < peak[with]) {
        peak[with] = value;
        last[with] = static_cast<int8_t>(t);
      }
    }
  }
  std::vector<int> order;
  for (uint32_t set = static_cast<uint32_t>(sets - 1); set != 0;) {
    order.push_back(last[set]);
    set &= ~(1u << last[set]);
  }
  std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace

std::optional<std::vector<int>> low_peak_order(const Program& program) {
  const size_t n = program.steps.size();
  if (n < 2 || n > kGreedyLimit) return std::nullopt;
  const Problem p = describe(program);
  std::vector<int> order = n <= kExactLimit ? exact(p) : greedy(p);
  if (order.size() != n || std::is_sorted(order.begin(), order.end())) return std::nullopt;
  return order;
}

}  // namespace qc
