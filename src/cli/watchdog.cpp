// What only a whole program can bound: every byte it allocates, and the processor's time. Both are
// parts of the budget (support/budget.h) and catch what no other count foresees.
#include <malloc.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "cli/cli.h"
#include "support/budget.h"
#include "support/scratch.h"

namespace qc::cli {
namespace {

constexpr int64_t kSeconds = 6;  // for files up to a megabyte

const Budget* watched = nullptr;
int64_t ticks = 0;

/// Once a second of the processor's time. Late work is refused at its next count; what counts
/// nothing for a quarter of the time more is ended here.
void tick(int) {
  ++ticks;
  const int64_t limit = watched->scaled(kSeconds);
  if (ticks < limit) return;
  time_is_up = true;
  if (ticks - limit <= limit / 4 + 1) return;
  constexpr char kText[] = "error[limit]: no end in sight (--budget N gives N times the time)\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kText, std::strlen(kText));
  remove_leftovers();
  ::_exit(1);
}

}  // namespace

void watch_time(const Budget& budget) {
  watched = &budget;
  struct sigaction action {};
  action.sa_handler = tick;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGPROF, &action, nullptr);
  const itimerval each_second{{1, 0}, {1, 0}};
  ::setitimer(ITIMER_PROF, &each_second, nullptr);
}

void stop_watching_time() {
  const itimerval never{};
  ::setitimer(ITIMER_PROF, &never, nullptr);
  ::signal(SIGPROF, SIG_IGN);  // one may be pending
}

void watch_time_of(const Samples& samples) {
  if (samples.count() > 1) stop_watching_time();
}

}  // namespace qc::cli

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define QC_OWN_NEW 0
#endif
#endif
#if !defined(QC_OWN_NEW) && defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
#define QC_OWN_NEW 1
#endif

#if QC_OWN_NEW
namespace {
void* counted(void* p) {
  if (!p) throw std::bad_alloc();
  try {
    qc::hold(qc::Cost::memory, static_cast<int64_t>(::malloc_usable_size(p)));
  } catch (...) {
    std::free(p);
    throw;
  }
  return p;
}
}  // namespace

void* operator new(std::size_t size) { return counted(std::malloc(size > 0 ? size : 1)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto grain = static_cast<std::size_t>(alignment);
  return counted(std::aligned_alloc(grain, (std::max(size, grain) + grain - 1) / grain * grain));
}
void operator delete(void* p) noexcept {
  if (!p) return;
  qc::release(qc::Cost::memory, static_cast<int64_t>(::malloc_usable_size(p)));
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept { operator delete(p); }
void operator delete(void* p, std::align_val_t) noexcept { operator delete(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { operator delete(p); }
#endif
