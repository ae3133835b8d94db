// Samples: arrays of many inputs, handed out one run at a time.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "arrays/stream.h"
#include "ir/graph.h"

namespace qc {

class Samples {
 public:
  /// Matches the arrays with the graph's inputs (by name or as in_0, in_1, ...) and splits them
  /// along axis 0: into runs of the model's own batch size, or of one where the model leaves it
  /// open. Arrays with one axis more than the input hold one run per index.
  /// `sizes` are numbers for symbolic dimensions. NaN in floats is an error where it says so.
  static Result<Samples> open(const Graph& graph, std::vector<ArrayStream> arrays,
                              const Bindings& sizes = {}, bool refuse_nan = false);
  /// One run.
  static Samples of(std::vector<Tensor> inputs);

  int64_t count() const { return count_; }
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
  Result<std::vector<Tensor>> read();
  Result<Ok> check(const Source& source, const Tensor& piece);

  std::vector<Source> sources_;
  std::vector<Tensor> first_;
  int64_t count_ = 0, taken_ = 0, read_ = 0;
  bool refuse_nan_ = false;
  std::string file_;
  std::set<std::string> warned_;  // inputs
  std::vector<std::string> warnings_;
};

}  // namespace qc
