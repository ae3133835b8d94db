// A contract graph as Programs that run in process, through the kernels built into quantc.
#pragma once

#include <memory>
#include <vector>

#include "driver/sized_program.h"
#include "program/run.h"
#include "support/lru_cache.h"

namespace qc {

class InProcess {
 public:
  /// With `threads` above 0, large steps are split among so many; the answer is the interpreter's
  /// in any case.
  static Result<InProcess> create(const Graph& graph, Options options, int threads);
  /// The outputs for inputs of any sizes that the graph takes. Programs for the sizes that were
  /// used last are kept.
  Result<std::vector<Tensor>> run(const std::vector<Tensor>& inputs, ProgramOptions how = {}) const;
  /// The same with the states after the run. Several threads may call it.
  Result<ProgramResult> run_with_states(const std::vector<Tensor>& inputs,
                                        ProgramOptions how = {}) const;
  /// The Program for inputs of these sizes.
  Result<std::shared_ptr<const Program>> program(const std::vector<Tensor>& inputs) const;

 private:
  struct Sized {
    Program program;
    std::optional<ProgramRunner> runner;  // of `program`
  };
  struct State;
  explicit InProcess(std::shared_ptr<State> state) : state_(std::move(state)) {}
  Result<std::shared_ptr<const Sized>> sized(const std::vector<Tensor>& inputs) const;

  std::shared_ptr<State> state_;
};

}  // namespace qc
