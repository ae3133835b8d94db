#include "driver/in_process.h"

#include "interp/interpreter.h"
#include "program/run.h"

namespace qc {

Result<std::vector<Tensor>> run_in_process(const Graph& graph, Options options,
                                           const std::vector<Tensor>& inputs, int threads) {
  QC_ASSIGN(auto own, copy(graph));
  QC_ASSIGN(const Bindings sizes, bindings_for(*own, inputs));
  if (!sizes.empty()) QC_TRY(own->bind(sizes));
  options.threads = true;
  QC_ASSIGN(const Program program, make_program(*own, options));
  QC_ASSIGN(const ProgramRunner runner, ProgramRunner::create(program, true));
  Threads pool(threads);
  ProgramOptions how;
  how.parallel_for = [&](int32_t units, const Part& part) { pool.run(units, part); };
  QC_ASSIGN(ProgramResult result, runner.run(inputs, how));
  return std::move(result.outputs);
}

}  // namespace qc
