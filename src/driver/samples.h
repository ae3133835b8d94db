// Samples: arrays of many inputs, handed out one run at a time.
#pragma once

#include <vector>

#include "arrays/npz.h"
#include "ir/graph.h"

namespace qc {

class Samples {
 public:
  /// Matches the arrays with the graph's inputs (by name or as in_0, in_1, ...) and splits them
  /// along axis 0: into runs of the model's own batch size, or of one where the model leaves it
  /// open. Arrays with one axis more than the input hold one run per index.
  static Result<Samples> split(const Graph& graph, const std::vector<NamedArray>& arrays);

  int64_t count() const { return count_; }
  /// The inputs of run i; they borrow from the arrays.
  std::vector<Tensor> at(int64_t i) const;

 private:
  struct Source {
    Tensor all;
    std::vector<int64_t> shape;  // of one run
  };
  std::vector<Source> sources_;
  int64_t count_ = 0;
};

}  // namespace qc
