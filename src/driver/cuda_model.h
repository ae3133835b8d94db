// A contract graph as compiled CUDA C++, loaded in process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "driver/build.h"
#include "driver/compile.h"
#include "driver/step_times.h"

namespace qc {

/// What one run of a CUDA build takes, as NAME_analyze measured it.
struct CudaFigures {
  int launches = 0;
  double device_us = 0, host_us = 0;  // of a run as the handle makes it, without copies
  double copied_us = 0;               // with copies from and to the host's memory
};

/// $NVCC, else "nvcc".
std::string nvcc_program();

class CudaModel {
 public:
  /// Writes CUDA for a copy of the graph into a temporary folder, builds it with nvcc ($NVCC, else
  /// the one in the path), or with `host` as code whose threads run here one after another, loads
  /// it and uploads the weights. Without nvcc or a GPU it says so: that is unsupported, no bug.
  static Result<CudaModel> build(const Graph& graph, const Options& options, bool host);

  /// One run from and to the host's memory.
  Result<NativeResult> run(const std::vector<Tensor>& inputs) const;
  /// What a run with inputs of these sizes takes.
  Result<CudaFigures> figures(const std::vector<Tensor>& inputs) const;
  /// The kernels of such a run in order, each with the device's time (NAME_profile).
  Result<std::vector<StepTime>> layer_times(const std::vector<Tensor>& inputs) const;
  const Program& program() const { return module_->program(); }

 private:
  struct Handle;
  CudaModel(std::shared_ptr<const Module> module, std::shared_ptr<Handle> handle)
      : module_(std::move(module)), handle_(std::move(handle)) {}

  std::shared_ptr<const Module> module_;
  std::shared_ptr<Handle> handle_;
};

}  // namespace qc
