#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

#include "cli/cli.h"
#include "support/escape.h"

namespace qc::cli {

struct Progress::State {
  std::string what;
  std::mutex mutex;
  std::condition_variable done;
  bool finished = false;
  std::thread thread;

  void run() {
    try {
      report();
    } catch (const std::bad_alloc&) {
      // Where memory is short there are no reports.
    }
  }

  void report() {
    std::unique_lock lock(mutex);
    const auto begin = std::chrono::steady_clock::now();
    if (done.wait_for(lock, std::chrono::seconds(1), [this] { return finished; })) return;
    say("{} ...\n", what);
    while (!done.wait_for(lock, std::chrono::seconds(10), [this] { return finished; })) {
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
      say("{} ... {:.0f} s\n", what, spent.count());
    }
  }
};

Progress::Progress(const std::string& what) : state_(std::make_unique<State>()) {
  state_->what = shown(what);
  try {
    state_->thread = std::thread([s = state_.get()] { s->run(); });
  } catch (const std::system_error&) {
    // No thread is to be had: the work goes on without reports.
  }
}

Progress::~Progress() {
  {
    std::lock_guard lock(state_->mutex);
    state_->finished = true;
  }
  state_->done.notify_all();
  if (state_->thread.joinable()) state_->thread.join();
}

}  // namespace qc::cli
