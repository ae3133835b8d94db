// A contract graph as a Program that runs in process, through the kernels built into quantc.
#pragma once

#include <memory>
#include <vector>

#include "driver/compile.h"
#include "program/run.h"

namespace qc {

class InProcess {
 public:
  /// `like` are inputs of one run: they give free dimensions their sizes. With `threads` above 0,
  /// large steps are split among so many; the answer is the interpreter's in any case.
  static Result<InProcess> create(const Graph& graph, Options options,
                                  const std::vector<Tensor>& like, int threads);
  /// The outputs for inputs of the same shapes.
  Result<std::vector<Tensor>> run(const std::vector<Tensor>& inputs, ProgramOptions how = {}) const;
  const Program& program() const { return *program_; }

 private:
  InProcess(std::unique_ptr<const Program> program, ProgramRunner runner, int threads)
      : program_(std::move(program)),
        runner_(std::move(runner)),
        threads_(threads > 0 ? std::make_unique<Threads>(threads) : nullptr) {}

  std::unique_ptr<const Program> program_;  // the runner points to it
  ProgramRunner runner_;
  std::unique_ptr<Threads> threads_;
};

}  // namespace qc
