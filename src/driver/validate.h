// Comparing ways of running a model: expected arrays, the interpreter, generated code.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "arrays/compare.h"
#include "driver/build.h"
#include "driver/compile.h"

namespace qc {

struct ValidateOptions {
  std::optional<double> atol;  // none: 1e-4 of the largest expected magnitude
  double rtol = 0;
  std::vector<std::string> targets = {"native"};
  BuildOptions build;
  bool per_layer = false;
};

struct Comparison {
  std::string got, want;  // "interpreter", "portable", "expected"
  std::string output;
  Difference difference;
  bool ok = true;
};

/// Where interpreter and generated code first differ when every layer's result is stored.
struct LayerDifference {
  std::string target, layer, op;
  Difference difference;
};

struct Validation {
  std::vector<Comparison> comparisons;
  std::vector<LayerDifference> layers;  // first difference per target; empty when there is none
  bool ok = true;
};

/// Runs a contract graph on `inputs` in the interpreter and in C for each target. Each is compared
/// with `expected` (when given) within the tolerance, and C with the interpreter bit for bit.
Result<Validation> validate(const Graph& graph, const Options& options,
                            const std::vector<Tensor>& inputs, const std::vector<Tensor>* expected,
                            const ValidateOptions& validation);

/// The comparisons as a table.
std::string str(const Validation& validation);

}  // namespace qc
