// Other programs that run a model, each in a Python process of its own that answers when asked.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "driver/tool.h"
#include "support/result.h"
#include "support/scratch.h"

namespace qc {

/// Names of the peers: onnxruntime, openvino, torch.
const std::vector<std::string>& peer_names();

/// An error where the peer would run code that the model's file may hold, unless that is trusted.
Result<Ok> check_trust(const std::string& name, const std::string& model, bool trusted);

class Peer {
 public:
  /// Starts the peer on a model and the inputs of an .npz file (in_0, in_1, ...). It is looked for
  /// in $QUANTC_PYTHON, else in the Python of the virtual environment that is active, then in
  /// python3 and python, and runs isolated (python -I): nothing of the current folder or of
  /// $PYTHONPATH is imported. An error says what is missing and how it is installed, or what the
  /// peer itself says. `device` is cpu or cuda; on a CPU it takes so many threads.
  static Result<std::unique_ptr<Peer>> start(const std::string& name, const std::string& model,
                                             const std::string& inputs, const std::string& device,
                                             int threads);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  /// "onnxruntime 1.22.0 (CPUExecutionProvider)"
  const std::string& what() const { return what_; }
  /// Seconds of so many runs, one after another.
  Result<std::vector<double>> run(int runs);

 private:
  Peer() = default;
  Result<Ok> launch(const ToolCall& call);
  /// The next line it says; an error when it has ended, or says none in `patience_`.
  Result<std::string> line();

  std::string name_, what_, buffer_;
  std::unique_ptr<ScratchFolder> folder_;  // where it runs
  pid_t child_ = -1;
  int connection_ = -1;
  int64_t patience_ = -1;  // in milliseconds; -1: without end
  std::unique_ptr<RunningTool> running_;
};

}  // namespace qc
