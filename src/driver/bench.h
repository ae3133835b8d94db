// How fast generated code is, beside others that run the same model.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "driver/build.h"
#include "driver/compile.h"
#include "driver/cuda_model.h"
#include "driver/machine_peak.h"
#include "driver/step_times.h"

namespace qc {

struct BenchOptions {
  std::vector<std::string> against;  // peer_names()
  double seconds = 1;                // of measuring for each that runs
  int rounds = 0;                    // so many runs of each instead; 0: as `seconds` says
  bool per_layer = false;
  bool trust_model = false;  // peers may run code of the model's file
  BuildOptions build;
  /// Called when everything ran once and only what was asked for is left to be measured.
  std::function<void()> ready;
};

/// One that ran the model, and how long each run took.
struct Runner {
  std::string name, what;  // "onnxruntime", "onnxruntime 1.22.0"
  std::vector<double> seconds;

  double least() const;
  double median() const;
};

struct Bench {
  std::string target;
  Runner own;
  std::vector<Runner> peers;
  std::vector<std::pair<std::string, std::string>> missing;  // peers, and why they did not run
  int64_t macs = 0, integer_macs = 0;                        // of one run
  int64_t bytes = 0;                   // operands and results of all kernel calls of one run
  std::optional<MachinePeak> peak;     // of the processor, or of the GPU that the code is for
  std::optional<CudaFigures> figures;  // of code for a GPU
  std::vector<StepTime> layers;        // where asked for

  /// Of the least time: what the run would take if every product came at the machine's limit, and
  /// on a GPU, whose caches are small beside what a run moves, if all bytes were copied, whichever
  /// takes longer.
  std::optional<double> share_of_limit() const;
  std::optional<double> share_of_limit(const StepTime& layer) const;

 private:
  std::optional<double> share(int64_t integers, int64_t floats, int64_t moved,
                              double seconds) const;
};

/// Builds the contract graph for the options' target and runs it interleaved with the peers, which
/// run the file `model` itself. Layers are timed in process, by the same kernels; those of a GPU by
/// its events.
Result<Bench> bench(const Graph& graph, const Options& options, const std::string& model,
                    const std::vector<Tensor>& inputs, const BenchOptions& how);

/// As a table and a chart of bars, in so many columns. With `cut`, names of layers are without the
/// path that all have.
std::string str(const Bench& bench, size_t width, bool cut);
/// As docs/schema/bench.json describes.
std::string json(const Bench& bench, const std::string& model);

}  // namespace qc
