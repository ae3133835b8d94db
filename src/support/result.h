// Result<T>: a value or a diagnostic. Errors travel as values through every library of quantc.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "support/diag.h"

namespace qc {

/// The value of a Result that carries nothing.
struct Ok {};

namespace detail {
Diag* boxed(const Diag& diag);
Diag* boxed(Diag&& diag);
void destroy(Diag* diag);
[[noreturn]] void wrong_access();
}  // namespace detail

/// The value, or the diagnostic in a box: small to return, and little code where nothing fails.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)), ok_(true) {}
  Result(const Diag& diag) : diag_(detail::boxed(diag)), ok_(false) {}
  Result(Diag&& diag) : diag_(detail::boxed(std::move(diag))), ok_(false) {}
  Result(const Result& other) : ok_(other.ok_) {
    if (ok_) {
      std::construct_at(&value_, other.value_);
    } else {
      diag_ = detail::boxed(*other.diag_);
    }
  }
  Result(Result&& other) noexcept : ok_(other.ok_) { take(other); }
  Result& operator=(Result other) noexcept {
    drop();
    ok_ = other.ok_;
    take(other);
    return *this;
  }
  ~Result() { drop(); }

  bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }

  T& value() & { return checked(ok_), value_; }
  const T& value() const& { return checked(ok_), value_; }
  T&& value() && { return checked(ok_), std::move(value_); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  Diag& diag() & { return checked(!ok_), *diag_; }
  const Diag& diag() const& { return checked(!ok_), *diag_; }
  Diag&& diag() && { return checked(!ok_), std::move(*diag_); }

 private:
  static void checked(bool held) {
    if (!held) detail::wrong_access();
  }
  void drop() {
    if (ok_) {
      std::destroy_at(&value_);
    } else {
      detail::destroy(diag_);
    }
  }
  void take(Result& other) {
    if (ok_) {
      std::construct_at(&value_, std::move(other.value_));
    } else {
      diag_ = std::exchange(other.diag_, nullptr);
    }
  }

  union {
    T value_;
    Diag* diag_;
  };
  bool ok_;
};

}  // namespace qc

#define QC_CONCAT_(a, b) a##b
#define QC_CONCAT(a, b) QC_CONCAT_(a, b)

/// Returns the diagnostic of `expr` from the enclosing function if it failed.
#define QC_TRY(expr)                                  \
  do {                                                \
    if (auto qc_result_ = (expr); !qc_result_.ok()) { \
      return std::move(qc_result_).diag();            \
    }                                                 \
  } while (false)

/// `QC_ASSIGN(auto x, f());` binds the value of f() or returns its diagnostic.
#define QC_ASSIGN(declaration, expr)                          \
  auto QC_CONCAT(qc_result_, __LINE__) = (expr);              \
  if (!QC_CONCAT(qc_result_, __LINE__).ok()) {                \
    return std::move(QC_CONCAT(qc_result_, __LINE__)).diag(); \
  }                                                           \
  declaration = std::move(QC_CONCAT(qc_result_, __LINE__)).value()

/// Aborts with the place and the reason: a broken invariant of quantc, never a user's mistake.
#define QC_CHECK(condition, reason)                                   \
  do {                                                                \
    if (!(condition)) ::qc::check_failed(__FILE__, __LINE__, reason); \
  } while (false)

namespace qc {
[[noreturn]] void check_failed(const char* file, int line, const char* reason);
}
