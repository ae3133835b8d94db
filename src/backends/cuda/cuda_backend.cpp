#include "backends/cuda/cuda_backend.h"

#include <algorithm>

#include "backends/cuda/text.h"
#include "support/checked.h"

namespace qc {
namespace {

Result<Ok> check_supported(const Module& module, const ProjectOptions& options) {
  const Program& program = module.program();
  if (!program.dims.empty())
    return error(Code::unsupported, "code for target cuda has no free dimensions: give numbers");
  if (!program.states.empty())
    return error(Code::unsupported, "code for target cuda keeps no state: use --state io");
  const auto& steps = program.steps;
  const auto flow = std::find_if(steps.begin(), steps.end(),
                                 [](const Step& s) { return s.branch() || s.loop(); });
  if (flow != steps.end())
    return error(Code::unsupported, flow->loc, "code for target cuda has no branches and loops");
  if (options.weights == WeightForm::file)
    return error(Code::unsupported,
                 "code for target cuda holds its weights: use --weights literal or incbin");
  return Ok{};
}

}  // namespace

Result<ProjectReport> write_cuda(const Module& module, const ProjectOptions& options,
                                 const Vectors* vectors, FileSet& files) {
  QC_TRY(check_supported(module, options));
  const Program& program = module.program();
  const WeightMap map = map_weights(module);
  ProjectReport report;
  report.weight_bytes = map.bytes;
  report.arena_bytes = program.arena_bytes;
  for_each_step(program.steps, [&](const Step& s) {
    report.macs = saturating_add(report.macs, s.call() ? s.call()->macs : 0);
  });
  QC_ASSIGN(WrittenWeights weights, write_weights(*program.pool, map, options, files));
  report.not_finite = std::move(weights.not_finite);
  const std::string& name = options.name;
  QC_TRY(
      files.write(name + ".h", cuda::header_text(program, module, options, report, weights.hash)));
  QC_TRY(files.write(name + ".cu", cuda::source_text(program, options, map)));
  QC_TRY(files.write(name + "_kernels.h", kernels_text(module.parts.front(), options)));
  if (options.project) {
    QC_TRY(files.write("Makefile", cuda::makefile_text(module.parts.front().target, options)));
    QC_TRY(cuda::write_test(program, options, vectors, files));
  }
  return report;
}

}  // namespace qc
