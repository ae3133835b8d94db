// What the library says when something cannot be done: a Diagnostic, in the place of the value.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace quantc {

/// Who has to act on a failure; also the exit status of the command line: 1, 2, 3.
enum class Kind { user = 1, unsupported = 2, internal = 3 };

struct Diagnostic {
  Kind kind = Kind::internal;
  std::string code;  // as in docs/errors.md
  std::string file;
  std::vector<std::string> nodes;  // the model's own names
  std::string op;
  std::string text;
  std::vector<std::string> notes;
  std::string message;  // all of it, as the command line prints it
};

/// The value of what gives none: it was done.
struct Done {};

/// A value or a diagnostic.
template <class T>
class [[nodiscard]] Expected {
 public:
  Expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Expected(Diagnostic diagnostic) : state_(std::in_place_index<1>, std::move(diagnostic)) {}

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() { return std::get<0>(state_); }
  const T& operator*() const { return std::get<0>(state_); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  const Diagnostic& diagnostic() const { return std::get<1>(state_); }

 private:
  std::variant<T, Diagnostic> state_;
};

}  // namespace quantc
