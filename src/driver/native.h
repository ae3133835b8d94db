// A contract graph as compiled C, loaded in process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "driver/build.h"
#include "driver/compile.h"

namespace qc {

class NativeModel {
 public:
  /// Writes C for a copy of the graph into a temporary folder, builds and loads it.
  static Result<NativeModel> build(const Graph& graph, Options options, const BuildOptions& build);
  /// One call; see run_native().
  Result<NativeResult> run(const std::vector<Tensor>& inputs, int more = 0) const;
  const Program& program() const { return module_.program(); }

 private:
  /// More than most models have units for evenly: ranges differ in length.
  static constexpr int kThreads = 3;

  NativeModel(Module module, std::string name, std::shared_ptr<Library> library, bool threads)
      : module_(std::move(module)),
        name_(std::move(name)),
        library_(std::move(library)),
        threads_(threads ? std::make_shared<Threads>(kThreads) : nullptr) {}

  Module module_;
  std::string name_;
  std::shared_ptr<Library> library_;
  std::shared_ptr<Threads> threads_;  // of models that split steps
};

}  // namespace qc
