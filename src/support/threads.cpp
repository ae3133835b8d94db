#include "support/threads.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace qc {

struct Threads::State {
  std::mutex mutex;
  std::condition_variable begin, done;
  const Part* part = nullptr;  // of the work at hand
  int32_t units = 0;
  uint64_t round = 0;  // of work; a thread takes part in each once
  int busy = 0;        // threads that have not finished the round
  bool ends = false;
  std::exception_ptr thrown;  // by a part of the round
  std::vector<std::thread> threads;

  /// What the part throws is kept for who called run().
  void range(int thread) {
    try {
      run_part(thread);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!thrown) thrown = std::current_exception();
    }
  }

  void run_part(int thread) const {
    const auto count = static_cast<int64_t>(threads.size()) + 1;
    const auto first = static_cast<int32_t>(units * int64_t{thread} / count);
    const auto last = static_cast<int32_t>(units * (int64_t{thread} + 1) / count);
    if (first < last) (*part)(first, last);
  }

  void work(int thread) {
    uint64_t seen = 0;
    std::unique_lock lock(mutex);
    while (true) {
      begin.wait(lock, [&] { return ends || round != seen; });
      if (ends) return;
      seen = round;
      lock.unlock();
      range(thread);
      lock.lock();
      if (--busy == 0) done.notify_one();
    }
  }
};

Threads::Threads(int count) : state_(std::make_unique<State>()) {
  // All are there before the first looks how many there are.
  const std::lock_guard lock(state_->mutex);
  try {
    for (int i = 1; i < count; ++i)
      state_->threads.emplace_back([state = state_.get(), i] { state->work(i); });
  } catch (const std::exception&) {
    // Neither thread nor memory for one: those that there are share the work.
  }
}

Threads::~Threads() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->ends = true;
  }
  state_->begin.notify_all();
  for (std::thread& thread : state_->threads) thread.join();
}

void Threads::run(int32_t units, const Part& part) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->part = &part;
    state_->units = units;
    state_->busy = static_cast<int>(state_->threads.size());
    ++state_->round;
  }
  state_->begin.notify_all();
  state_->range(0);
  std::unique_lock lock(state_->mutex);
  state_->done.wait(lock, [&] { return state_->busy == 0; });
  if (state_->thrown) std::rethrow_exception(std::exchange(state_->thrown, nullptr));
}

}  // namespace qc
