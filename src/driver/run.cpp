#include "driver/run.h"

#include <cstring>
#include <optional>

#include "driver/in_process.h"
#include "driver/index_checks.h"
#include "interp/interpreter.h"
#include "support/checked.h"
#include "support/located.h"

namespace qc {
namespace {

/// Outputs of runs one behind the other. A size that depends on the elements of the inputs may
/// differ between runs: then they cannot be joined.
class Joined {
 public:
  Joined(const Graph& graph, int64_t count) : graph_(graph), count_(count) {}

  Result<Ok> add(std::vector<Tensor> outputs) {
    if (count_ == 1) {
      all_ = std::move(outputs);
      return Ok{};
    }
    if (done_ == 0) QC_TRY(make_room(outputs));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Tensor& one = outputs[i];
      const auto bytes = one.bytes().size();
      if (one.shape() != shapes_[i] || one.dtype() != all_[i].dtype()) {
        return error(Code::input, Loc{graph_.file, {graph_.outputs()[i].name}, "output"},
                     "sample {} gives shape {}, the first {}: they cannot be joined", done_,
                     str(to_dims(one.shape())), str(to_dims(shapes_[i])));
      }
      if (bytes > 0)
        std::memcpy(all_[i].mutable_bytes().data() + done_ * bytes, one.bytes().data(), bytes);
    }
    ++done_;
    return Ok{};
  }
  std::vector<Tensor> take() { return std::move(all_); }

 private:
  Result<Ok> make_room(const std::vector<Tensor>& outputs) {
    for (const Tensor& one : outputs) {
      shapes_.push_back(one.shape());
      std::vector<int64_t> shape = one.shape();
      if (shape.empty()) shape.push_back(1);
      shape[0] = saturating_mul(shape[0], count_);
      QC_TRY(located(checked_bytes(one.dtype(), shape), Loc{graph_.file, {}, {}}));
      all_.emplace_back(one.dtype(), std::move(shape));
    }
    return Ok{};
  }

  const Graph& graph_;
  const int64_t count_;
  size_t done_ = 0;
  std::vector<std::vector<int64_t>> shapes_;
  std::vector<Tensor> all_;
};

}  // namespace

Result<std::vector<std::vector<Tensor>>> run_all(const Graph& graph, const Options& options,
                                                 Samples samples, int threads) {
  std::optional<InProcess> program;
  if (threads > 0) {
    Options checked = options;
    checked.check_indices = true;
    QC_ASSIGN(program, InProcess::create(graph, checked, threads));
  }
  std::vector<std::vector<Tensor>> out;
  for (const Samples::Set& set : samples.sets()) {
    Joined joined(graph, set.count);
    for (int64_t i = 0; i < set.count; ++i) {
      QC_ASSIGN(const std::vector<Tensor> inputs, samples.next());
      std::vector<Tensor> outputs;
      QC_TRY(check_indices(graph, inputs));
      if (program) {
        QC_ASSIGN(outputs, program->run(inputs));
      } else {
        RunOptions how;
        how.how.check_indices = true;
        QC_ASSIGN(RunResult result, for_sample([&] { return interpret(graph, inputs, how); }));
        outputs = std::move(result.outputs);
      }
      QC_TRY(joined.add(std::move(outputs)));
    }
    out.push_back(joined.take());
  }
  return out;
}

}  // namespace qc
