// Budget: what one load and compile may cost, so that no small file takes long or much memory.
// Every part counts what it does here and nowhere else; the limits grow with the bytes of the files
// read, so large models have room and small files cannot ask for much. docs/adr/0012 says why it is
// found through the thread and why it throws.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>
#include <utility>

#include "support/bug.h"
#include "support/result.h"

namespace qc {

enum class Cost : uint8_t {
  work,     // steps of computation: an element, a multiply-accumulate, a node looked at
  tensors,  // bytes of tensors held at once
  terms,    // terms of sizes with symbols
  emitted,  // bytes written to files
  memory,   // bytes held at once in all, where the program counts them
};
inline constexpr int kCosts = 5;

/// Thrown where a budget is spent, and nowhere else; `within` turns it into a value. It is a
/// bad_alloc because allocating may throw it. Libraries may swallow it (std::stable_sort does when
/// its buffer is refused), so a spent budget throws again at every later count until `within`
/// returns; only while an exception unwinds the stack is nothing refused.
class BudgetSpent : public std::bad_alloc {
 public:
  explicit BudgetSpent(Diag diag) : diag_(std::make_shared<const Diag>(std::move(diag))) {}
  const Diag& diag() const noexcept { return *diag_; }
  const char* what() const noexcept override { return "the budget is spent"; }

 private:
  std::shared_ptr<const Diag> diag_;
};

class Budget {
 public:
  explicit Budget(int64_t factor = 1);
  /// A budget of the same size of which nothing is spent.
  Budget(const Budget& other);
  Budget& operator=(const Budget&) = delete;

  /// Multiplies every limit: the option `budget`.
  void set_factor(int64_t factor);
  /// A file was opened; each counts once.
  void read_file(uint64_t device, uint64_t number, int64_t bytes);

  int64_t limit(Cost cost) const { return limit_[static_cast<int>(cost)]; }
  /// As the limits, of an amount that files up to a megabyte may use; safe in a signal handler.
  int64_t scaled(int64_t amount) const;
  int64_t spent(Cost cost) const { return spent_[static_cast<int>(cost)]; }
  /// "work 0.2 %, tensors 1.5 %, ..." of the limits, the most that was held at once of what is
  /// held.
  std::string used() const;

  /// The budget that work on this thread counts against, null for none.
  static Budget* current();

  /// Makes a budget the current one of this thread.
  class Scope {
   public:
    explicit Scope(Budget* budget);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Budget* before_;
  };

 private:
  friend void spend(Cost, int64_t);
  friend void hold(Cost, int64_t);
  /// Whether `amount` is within `most`. While the stack unwinds everything is: destructors must not
  /// throw, and what they take is given back at once.
  bool allows(int64_t amount, int64_t most) const;
  [[noreturn]] void refuse(Cost cost);
  void set_limits();

  std::atomic<int64_t> spent_[kCosts] = {};  // the most of what is held at once
  std::atomic<int64_t> limit_[kCosts] = {};
  int64_t held_before_[kCosts] = {};  // when the budget was made
  std::atomic<int64_t> factor_ = 1, bytes_read_ = 0;
  std::atomic<bool> overdrawn_ = false;  // for good
  std::mutex mutex_;
  std::set<std::pair<uint64_t, uint64_t>> files_;
};

/// Steps of work that looking at a node counts: its types are inferred, its operands walked.
inline constexpr int64_t kNodeWork = 200;

/// Counts what is about to be done; throws BudgetSpent when there is no room for it.
void spend(Cost cost, int64_t amount);
/// Counts bytes that are held from now on; `release` gives them back.
void hold(Cost cost, int64_t bytes);
void release(Cost cost, int64_t bytes) noexcept;

/// Refuses a file for another reason than what it costs, where no value can say so.
[[noreturn]] void refuse(Code code, const char* reason);

/// What this thread is doing while it lives, for messages: the innermost that knows its place names
/// it. Both arguments must outlive it.
class Doing {
 public:
  explicit Doing(const char* what, const Loc* loc = nullptr) noexcept;
  ~Doing();
  Doing(const Doing&) = delete;
  Doing& operator=(const Doing&) = delete;
  /// The innermost, null for none; safe in a signal handler.
  static const char* now() noexcept;

 private:
  friend class Budget;
  friend void refuse(Code, const char*);
  static const Loc* where() noexcept;
  const char* what_;
  const Loc* loc_;
  const Doing* outer_;
};

/// Set by who watches the processor's time (the command line): the next thing counted is refused.
extern std::atomic<bool> time_is_up;

/// Calls `f`, which returns a Result, with the budget (null: none) as the current one. What is
/// thrown for want of budget or memory, or as a Bug, becomes the diagnostic.
template <class F>
auto within(Budget* budget, F&& f) -> decltype(f()) {
  try {
    const Budget::Scope scope(budget);  // of `f` alone: what a diagnostic takes is not refused
    return f();
  } catch (const BudgetSpent& spent) {
    return spent.diag();
  } catch (const std::bad_alloc&) {
    return error(Code::limit, "not enough memory for this model");
  } catch (const std::length_error&) {
    return error(Code::limit, "not enough memory for this model");
  } catch (const Bug& bug) {
    return error(Code::bug, "{}", bug.what());
  }
}

}  // namespace qc
