// Generated C as a library of this process.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "quantc/array.h"
#include "quantc/reports.h"

namespace quantc {

/// How the C is built. It is the project's own Makefile that builds it.
struct BuildOptions {
  std::string compiler;  // CC; empty: as the environment has it, else cc
  std::string flags;     // CFLAGS; empty: those of the Makefile
  int threads = 1;       // that take the units of split steps, of models compiled with threads
};

/// Seconds of calls, without what surrounds them.
struct Timing {
  int64_t runs = 0;
  double least = 0, median = 0, mean = 0;
};

/// A compiled model that can be called. Several threads may run it at once; one with state has one
/// state, which is kept from run to run.
class CompiledModel {
 public:
  CompiledModel(CompiledModel&&) noexcept;
  CompiledModel& operator=(CompiledModel&&) noexcept;
  ~CompiledModel();

  const Report& report() const;
  const std::string& folder() const;
  std::vector<Port> inputs() const;
  std::vector<Port> outputs() const;

  /// One call of the generated code. Arrays as for Model::run.
  Expected<std::vector<Array>> run(const ArrayViews& inputs) const;
  /// The same with results in memory that `allocate` gives: nothing has to be cleared or copied.
  Expected<ArrayViews> run(const ArrayViews& inputs, const Allocate& allocate) const;
  /// Calls it `runs` times, or for about a second with 0, and says how long the calls took.
  Expected<Timing> benchmark(const ArrayViews& inputs, int64_t runs = 0) const;
  /// The state is what it was at first.
  void reset() const;
  /// The same code with a state of its own, which is what this one's is now.
  CompiledModel copy() const;

 private:
  friend class Model;
  struct State;
  explicit CompiledModel(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace quantc
