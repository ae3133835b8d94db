// cases.ir: inputs and expected outputs of one op, beside its code. A file is a list of cases:
//
//   case "relu keeps nan"
//   graph (%0 "x" : f32[3]) { %1 = clamp(%0) {lo = 0.0} return %1 }
//   in [-1.0, 2.0, nan]
//   out [0.0, 2.0, nan]
//
//   case "sizes must agree"
//   graph (%0 "x" : f32[3]) { %1 = reshape(%0) {shape = [2]} return %1 }
//   error[shape] "cannot reshape"
//
// One `in` per graph input: elements, or `in iota`, or `in random SEED`. One `out` per graph
// output: elements, or `out "FILE"`, an .npy file beside this one. A case has no `out` only where
// nothing outside quantc can answer it, and says why: `unanswered "..."`. `out [...] within 1e-6`
// allows that much, relative to the larger of 1 and the expected magnitude; without it values must
// be equal, a NaN equal to any NaN. `bind s0 = 3` before the inputs sets a symbolic dim.
// `error[CODE] "text"` instead of outputs: building or running the graph must fail so, the message
// containing the text.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/tensor.h"

namespace qc::testing {

struct Expected {
  Tensor tensor;
  double within = 0;
};

struct Case {
  std::string name;
  size_t line = 0;
  std::unique_ptr<Graph> graph;  // null when building it failed with `failure`
  std::optional<Diag> failure;
  std::vector<Tensor> inputs;
  std::vector<Expected> outputs;
  std::string error_code;  // empty: no error expected
  std::string error_text;
  std::string unanswered;  // why there are no expected outputs
};

/// Reads a whole file of cases.
Result<std::vector<Case>> read_cases(std::string_view text, const std::string& file);

/// Elements between -2 and 2 (integers between -20 and 20, never negative for unsigned types),
/// the same for the same seed everywhere.
Tensor random_tensor(DType dtype, std::vector<int64_t> shape, uint64_t seed);

/// Empty when `got` is what the case expects, else what differs.
std::string difference(const Tensor& got, const Expected& expected);

/// Runs the case on the interpreter, plain and fast, and as a lowered and planned Program; all must
/// agree with the expectation, and with each other to the bit. Empty when it passed.
std::string check(const Case& c);

}  // namespace qc::testing
