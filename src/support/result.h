// Result<T>: a value or a diagnostic. Errors travel as values through every library of quantc.
#pragma once

#include <optional>
#include <utility>
#include <variant>

#include "support/diag.h"

namespace qc {

/// The value of a Result that carries nothing.
struct Ok {};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Diag diag) : state_(std::in_place_index<1>, std::move(diag)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  Diag& diag() & { return std::get<1>(state_); }
  const Diag& diag() const& { return std::get<1>(state_); }
  Diag&& diag() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Diag> state_;
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
