// Runs a Program in process through the portable kernels compiled into quantc.
#pragma once

#include <functional>
#include <vector>

#include "ir/tensor.h"
#include "program/program.h"

namespace qc {

struct ProgramResult {
  std::vector<Tensor> outputs;
  std::vector<Tensor> states;
};

struct ProgramOptions {
  std::vector<Tensor> states;  // empty: the initial constants
  /// Called after each kernel call with its outputs' bytes still in place.
  std::function<void(const Step&, const std::function<const std::byte*(View)>&)> observe;
};

/// Uses the arena plan where the program has one, separate buffers otherwise. Inputs must have the
/// types and sizes of the program's inputs.
Result<ProgramResult> run_program(const Program& program, const std::vector<Tensor>& inputs,
                                  const ProgramOptions& options = {});

}  // namespace qc
