#include "support/interrupt.h"

#include <time.h>

#include <cstdint>
#include <exception>

#include "support/budget.h"

namespace qc {

std::atomic<InterruptCheck> interrupt_check = nullptr;

namespace {

constexpr int64_t kEvery = 20;  // milliseconds

int64_t milliseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);  // a few nanoseconds
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace

bool interrupted() {
  thread_local int64_t asked = 0;
  const InterruptCheck check = interrupt_check.load(std::memory_order_relaxed);
  if (!check) return false;
  const int64_t now = milliseconds();
  if (now - asked < kEvery) return false;
  asked = now;
  return check();
}

void end_if_interrupted() {
  // What is taken apart already is not ended once more.
  if (std::uncaught_exceptions() == 0 && interrupted())
    refuse(Code::limit, "interrupted: who called ended it");
}

}  // namespace qc
