// Threads that share the units of some work.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace qc {

/// Units [first, last) of some work.
using Part = std::function<void(int32_t first, int32_t last)>;
/// Calls `part` for ranges that together are [0, units), in any order and on any threads; returns
/// when all are done.
using ParallelFor = std::function<void(int32_t units, const Part& part)>;

/// Some threads that wait for work.
class Threads {
 public:
  /// `count` threads work at once, of which the one that calls run() is one; fewer where the system
  /// gives no more.
  explicit Threads(int count);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  /// One range of about the same length for each thread. Not to be called from a part. Throws what
  /// a part threw, once all have ended.
  void run(int32_t units, const Part& part);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace qc
