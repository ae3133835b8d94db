#include "support/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "support/checked.h"
#include "support/interrupt.h"

namespace qc {

std::atomic<bool> time_is_up = false;

namespace {

struct CostInfo {
  const char* name;
  const char* unit;
  int64_t limit;  // of files up to kFileBytes together
};
// A second or two of work each, and together less than a gigabyte.
constexpr CostInfo kInfo[kCosts] = {
    {"work", "steps of work", int64_t{2} << 30},
    {"tensors", "bytes of tensors", int64_t{512} << 20},
    {"terms", "terms of symbolic sizes", int64_t{4} << 20},
    {"emitted", "bytes of output", int64_t{256} << 20},
    {"memory", "bytes of memory", int64_t{640} << 20},
};
constexpr int64_t kFileBytes = int64_t{1} << 20;

std::atomic<int64_t> held[kCosts] = {};  // by the whole process
thread_local Budget* current_budget = nullptr;
thread_local const Doing* innermost = nullptr;

}  // namespace

Budget::Budget(int64_t factor) {
  for (int i = 0; i < kCosts; ++i) held_before_[i] = held[i];
  set_factor(factor);
}

Budget::Budget(const Budget& other) : Budget(other.factor_) {
  bytes_read_ = other.bytes_read_.load();
  set_limits();
}

void Budget::set_factor(int64_t factor) {
  factor_ = std::max<int64_t>(factor, 1);
  set_limits();
}

void Budget::read_file(uint64_t device, uint64_t number, int64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (!files_.emplace(device, number).second) return;
  bytes_read_ = saturating_add(bytes_read_, bytes);
  set_limits();
}

int64_t Budget::scaled(int64_t amount) const {
  // In steps of a 16th, so that files just above a megabyte get no second one.
  const int64_t sixteenths = std::max<int64_t>(bytes_read_ / (kFileBytes / 16), 16);
  return saturating_mul(saturating_mul(amount, sixteenths) / 16, factor_);
}

void Budget::set_limits() {
  for (int i = 0; i < kCosts; ++i) limit_[i] = scaled(kInfo[i].limit);
}

std::string Budget::used() const {
  std::string out;
  for (int i = 0; i < kCosts; ++i) {
    const double share =
        static_cast<double>(spent_[i]) / static_cast<double>(limit(static_cast<Cost>(i)));
    out += fmt::format("{}{} {:.2f} %", i ? ", " : "", kInfo[i].name, 100 * share);
  }
  return out;
}

Budget* Budget::current() { return current_budget; }

Budget::Scope::Scope(Budget* budget) : before_(current_budget) { current_budget = budget; }
Budget::Scope::~Scope() { current_budget = before_; }

bool Budget::allows(int64_t amount, int64_t most) const {
  return (amount <= most && !overdrawn_.load(std::memory_order_relaxed) &&
          !time_is_up.load(std::memory_order_relaxed)) ||
         std::uncaught_exceptions() > 0;
}

void Budget::refuse(Cost cost) {
  const Scope unbounded(nullptr);  // the message takes memory, too
  overdrawn_ = true;
  const Loc* where = Doing::where();
  const bool late = time_is_up.exchange(false);
  const std::string what =
      late ? "processor's time"
           : fmt::format("{} {}", limit(cost), kInfo[static_cast<int>(cost)].unit);
  throw BudgetSpent(error(Code::limit, where ? *where : Loc{},
                          "{}: this needs more than the {} that files of this size may use; give "
                          "--budget {} (or more) if the model is meant to be so large",
                          innermost ? innermost->what_ : "working", what, 10 * factor_));
}

void spend(Cost cost, int64_t amount) {
  if (interrupt_check.load(std::memory_order_relaxed)) end_if_interrupted();
  Budget* budget = current_budget;
  if (!budget) return;
  const int i = static_cast<int>(cost);
  const int64_t room = budget->limit(cost) - budget->spent_[i].load(std::memory_order_relaxed);
  if (!budget->allows(amount, room)) budget->refuse(cost);
  budget->spent_[i].fetch_add(std::max<int64_t>(amount, 0), std::memory_order_relaxed);
}

void hold(Cost cost, int64_t bytes) {
  const int i = static_cast<int>(cost);
  const int64_t now = held[i].fetch_add(bytes, std::memory_order_relaxed) + bytes;
  Budget* budget = current_budget;
  if (!budget) return;
  const int64_t own = now - budget->held_before_[i];
  if (!budget->allows(own, budget->limit(cost))) {
    release(cost, bytes);
    budget->refuse(cost);
  }
  if (own > budget->spent_[i].load(std::memory_order_relaxed))
    budget->spent_[i].store(own, std::memory_order_relaxed);
}

void release(Cost cost, int64_t bytes) noexcept {
  held[static_cast<int>(cost)].fetch_sub(bytes, std::memory_order_relaxed);
}

void refuse(Code code, const char* reason) {
  const Loc* where = Doing::where();
  throw BudgetSpent(error(code, where ? *where : Loc{}, "{}", reason));
}

Doing::Doing(const char* what, const Loc* loc) noexcept
    : what_(what), loc_(loc), outer_(innermost) {
  innermost = this;
}
Doing::~Doing() { innermost = outer_; }
const Loc* Doing::where() noexcept {
  const Doing* at = innermost;
  while (at && !at->loc_) at = at->outer_;
  return at ? at->loc_ : nullptr;
}
const char* Doing::now() noexcept { return innermost ? innermost->what_ : "working"; }

}  // namespace qc
