// Samples: arrays of many inputs, handed out one run at a time. All runs of a set have the same
// shapes; sets follow one another.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "arrays/stream.h"
#include "driver/arrays.h"
#include "ir/graph.h"
#include "quantc/options.h"
#include "support/budget.h"

namespace qc {

/// Calls `f`, which works on one sample, with a budget of its own: what one may cost does not
/// depend on how many there are.
template <class F>
auto for_sample(F&& f) -> decltype(f()) {
  const Budget* all = Budget::current();
  if (!all) return f();
  Budget own(*all);
  return within(&own, std::forward<F>(f));
}

class Samples {
 public:
  /// Matches the arrays with the graph's inputs (by name or as in_0, in_1, ...) and splits them
  /// along axis 0: into runs of the model's own batch size, or of one where the model leaves it
  /// open. Arrays with one axis more than the input hold one run per index.
  /// `sizes` are numbers for symbolic dimensions. NaN in floats is an error where it says so.
  static Result<Samples> open(const Graph& graph, std::vector<ArraySet> sets,
                              const Bindings& sizes = {}, bool refuse_nan = false);
  /// One run.
  static Samples of(std::vector<Tensor> inputs);

  /// Runs, of all sets together.
  int64_t count() const { return count_; }
  /// How many runs each set has, and the shapes of the inputs of one.
  struct Set {
    int64_t count = 0;
    std::vector<std::vector<int64_t>> shapes;
  };
  const std::vector<Set>& sets() const { return sets_; }
  /// The inputs of the first run.
  const std::vector<Tensor>& first() const { return first_; }
  /// The inputs of the next run, from the first to the last.
  Result<std::vector<Tensor>> next();
  /// What was noticed in the samples so far.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  struct Source {
    ArrayStream all;
    DType dtype;                 // of the input
    std::vector<int64_t> shape;  // of one run
  };
  Result<Ok> add(const Graph& graph, ArraySet arrays, const Bindings& sizes);
  Result<std::vector<Tensor>> read();
  Result<Ok> check(const Source& source, const Tensor& sample);

  std::vector<std::vector<Source>> sources_;  // of each set
  std::vector<Set> sets_;
  std::vector<Tensor> first_;
  int64_t count_ = 0, taken_ = 0, read_ = 0;
  size_t set_ = 0;        // from which is read
  int64_t set_read_ = 0;  // runs of it
  bool refuse_nan_ = false;
  std::string file_;
  std::set<std::string> warned_;  // inputs
  std::vector<std::string> warnings_;
};

/// Gives the options the sizes of the dimensions they leave open: the number that all sets have, or
/// the range in which they lie. Ranges that the options have must hold them.
Result<Ok> add_dims_of(const Graph& graph, const Samples& samples, quantc::Options& options);

/// The sizes that the sets give the graph's dimensions.
Result<std::vector<Bindings>> sizes_of(const Graph& graph, const Samples& samples);

}  // namespace qc
