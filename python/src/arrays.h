// Arrays of Python as views, and results as arrays of Python.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <quantc/quantc.h>

#include <memory>
#include <string>
#include <vector>

#include "interrupt.h"
#include "text.h"

namespace quantc::python {

namespace nb = nanobind;

/// Raises the diagnostic as the exception of its kind.
[[noreturn]] void raise(const Diagnostic& diagnostic);
/// The value, or the exception.
template <class T>
T value_of(Expected<T> expected) {
  if (!expected) raise(expected.diagnostic());
  return std::move(*expected);
}

/// Calls `f`, which returns an Expected, without the interpreter lock. What a handler of a signal
/// raises meanwhile (Ctrl-C: KeyboardInterrupt) ends the call.
template <class F>
auto unlocked(F&& f) {
  const Interruptible call;
  auto result = [&] {
    const nb::gil_scoped_release released;
    return f();
  }();
  call.raise_pending();
  return value_of(std::move(result));
}

/// Adds a line to the notes of the exception.
void add_note(nb::python_error& error, const std::string& note);

/// Arrays of a call, kept alive as long as their views are used.
class Arguments {
 public:
  /// `arrays` are NumPy arrays, torch tensors or anything else that shares its memory; `names` has
  /// a name for each, empty for those that are meant by their place.
  Arguments(const nb::sequence& arrays, const std::vector<std::string>& names);

  const ArrayViews& views() const { return views_; }
  /// Whether one is a torch tensor: then results are, too.
  bool torch() const { return torch_; }

 private:
  void add(nb::object array, std::string name);

  std::vector<nb::ndarray<nb::ro>> held_;
  ArrayViews views_;
  bool torch_ = false;
};

/// The arrays as what the caller works with. Elements are not copied.
nb::list results_of(std::vector<Array> arrays, bool torch);

/// Memory for results, which is theirs afterwards.
class Results {
 public:
  void* allocate(size_t bytes);
  /// `views` are of the memory that was allocated, in order.
  nb::list take(const ArrayViews& views, bool torch);

 private:
  struct Free {
    void operator()(void* p) const;
  };
  std::vector<std::unique_ptr<void, Free>> memory_;
};

}  // namespace quantc::python
