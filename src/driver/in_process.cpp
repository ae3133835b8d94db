#include "driver/in_process.h"

#include <mutex>

#include "interp/interpreter.h"

namespace qc {

struct InProcess::State {
  State(std::unique_ptr<Graph> own, SizedProgram made, int count)
      : graph(std::move(own)),
        programs(std::move(made)),
        threads(count > 0 ? std::make_unique<Threads>(count) : nullptr) {}

  std::unique_ptr<Graph> graph;
  SizedProgram programs;
  std::unique_ptr<Threads> threads;
  std::mutex making;
  LruCache<std::string, std::shared_ptr<const Sized>> cache{16};
};

Result<InProcess> InProcess::create(const Graph& graph, Options options, int threads) {
  options.threads = threads > 0;
  QC_ASSIGN(auto own, copy(graph));
  own->file = graph.file;
  QC_ASSIGN(SizedProgram programs, SizedProgram::create(graph, std::move(options)));
  return InProcess(std::make_shared<State>(std::move(own), std::move(programs), threads));
}

Result<std::shared_ptr<const InProcess::Sized>> InProcess::sized(
    const std::vector<Tensor>& inputs) const {
  QC_ASSIGN(const Bindings sizes, bindings_for(*state_->graph, inputs));
  const std::string key = str(sizes);
  const std::lock_guard lock(state_->making);
  if (auto known = state_->cache.get(key)) return *known;
  auto made = std::make_shared<Sized>();
  QC_ASSIGN(made->program, state_->programs.at(sizes));
  QC_ASSIGN(made->runner, ProgramRunner::create(made->program, true));
  state_->cache.put(key, made);
  return std::shared_ptr<const Sized>(std::move(made));
}

Result<std::shared_ptr<const Program>> InProcess::program(const std::vector<Tensor>& inputs) const {
  QC_ASSIGN(const auto one, sized(inputs));
  return std::shared_ptr<const Program>(one, &one->program);
}

Result<ProgramResult> InProcess::run_with_states(const std::vector<Tensor>& inputs,
                                                 ProgramOptions how) const {
  QC_ASSIGN(const auto one, sized(inputs));
  if (state_->threads) {
    how.parallel_for = [this](int32_t units, const Part& part) {
      state_->threads->run(units, part);
    };
  }
  return one->runner->run(inputs, how);
}

Result<std::vector<Tensor>> InProcess::run(const std::vector<Tensor>& inputs,
                                           ProgramOptions how) const {
  QC_ASSIGN(ProgramResult result, run_with_states(inputs, std::move(how)));
  return std::move(result.outputs);
}

}  // namespace qc
