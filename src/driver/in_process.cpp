#include "driver/in_process.h"

#include "interp/interpreter.h"

namespace qc {

Result<InProcess> InProcess::create(const Graph& graph, Options options,
                                    const std::vector<Tensor>& like, int threads) {
  QC_ASSIGN(auto own, copy(graph));
  QC_ASSIGN(const Bindings sizes, bindings_for(*own, like));
  if (!sizes.empty()) QC_TRY(own->bind(sizes));
  for (const auto& [symbol, size] : sizes) options.ranges.erase(symbol);
  options.threads = threads > 0;
  QC_ASSIGN(Program made, make_program(*own, options));
  auto program = std::make_unique<const Program>(std::move(made));
  QC_ASSIGN(ProgramRunner runner, ProgramRunner::create(*program, true));
  return InProcess(std::move(program), std::move(runner), threads);
}

Result<std::vector<Tensor>> InProcess::run(const std::vector<Tensor>& inputs,
                                           ProgramOptions how) const {
  if (threads_)
    how.parallel_for = [this](int32_t units, const Part& part) { threads_->run(units, part); };
  QC_ASSIGN(ProgramResult result, runner_.run(inputs, how));
  return std::move(result.outputs);
}

}  // namespace qc
