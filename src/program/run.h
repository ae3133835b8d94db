// Runs a Program in process through the kernels compiled into quantc.
#pragma once

#include <functional>
#include <vector>

#include "ir/tensor.h"
#include "program/memory.h"
#include "program/program.h"
#include "support/threads.h"

namespace qc {

struct ProgramResult {
  std::vector<Tensor> outputs;
  std::vector<Tensor> states;
};

struct ProgramOptions {
  std::vector<Tensor> states;  // empty: the initial constants
  ParallelFor parallel_for;    // takes the units of parallel steps; empty: the calling thread does
  /// Memory for each output, asked for in order; the outputs of the result lie in it. Empty: they
  /// have their own.
  std::function<void*(size_t bytes)> allocate;
  /// Called after each kernel call with its outputs' bytes still in place.
  std::function<void(const Step&, const std::function<const std::byte*(const View&)>&)> observe;
};

/// A program with its constants at hand, for many runs. The program must outlive it.
class ProgramRunner {
 public:
  /// `fast` takes the kernels built for this machine's instructions (fast_body) rather than
  /// the portable ones; the bits are the same.
  /// An error where this machine cannot run what a call is bound to.
  static Result<ProgramRunner> create(const Program& program, bool fast = false);

  /// Inputs must have the types and sizes of the program's inputs; they are read where they lie.
  /// Several threads may run at once. The memory of a run is kept for the next one.
  Result<ProgramResult> run(const std::vector<Tensor>& inputs,
                            const ProgramOptions& options = {}) const;

 private:
  ProgramRunner(const Program& program, bool fast) : program_(&program), fast_(fast) {}
  Result<Ok> bind_inputs(const std::vector<Tensor>& inputs, RunMemory& memory) const;
  Result<std::vector<Tensor>> bind_outputs(const ProgramOptions& options, RunMemory& memory) const;
  bool is_callers(int buffer) const;

  const Program* program_;
  bool fast_;
  std::vector<Tensor> constants_;  // by buffer; empty where it holds none
  std::shared_ptr<MemoryPool> pool_;
};

/// One run through the portable kernels.
Result<ProgramResult> run_program(const Program& program, const std::vector<Tensor>& inputs,
                                  const ProgramOptions& options = {});

}  // namespace qc
