// Programs with the kernels for CUDA, run in process: thread after thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "passes/pipeline.h"
#include "program/lowering.h"
#include "program/passes.h"
#include "program/plan.h"

namespace qc {

/// Targets whose kernels differ: threads alone, and tensor cores.
constexpr const char* kDevices[] = {"cuda:sm_75", "cuda:sm_80"};

/// The program of a graph for a device before its buffers share memory; none where the target lacks
/// a kernel. With `lowered` after the passes of a compilation, which move channels to the end.
inline Result<std::optional<Program>> unplanned_device_program(
    const Graph& graph, std::string_view device, bool lowered,
    std::vector<KernelChoice>* choices = nullptr, std::span<const ForcedKernel> forced = {}) {
  QC_ASSIGN(const Target target, find_target(device));
  PackedConstants constants;
  QC_ASSIGN(const auto own, copy(graph));
  if (lowered) {
    PassContext context;
    context.derived = &constants;
    PassOptions passes;
    passes.first = PassStage::lower;
    QC_TRY(run_passes(*own, passes, context));
  }
  QC_ASSIGN(Program program, lower(*own, constants));
  ProgramPassContext context{target, constants, choices, forced};
  for (const ProgramPass& pass : program_passes()) {
    if (!pass.run || (!lowered && pass.level > 0)) continue;
    const Result<Ok> done = pass.run(program, context);
    if (!done.ok() && done.diag().code == Code::unsupported) return std::optional<Program>();
    QC_TRY(done);
  }
  QC_TRY(verify(program));
  return std::optional<Program>(std::move(program));
}

/// The planned program.
inline Result<std::optional<Program>> device_program(const Graph& graph, std::string_view device,
                                                     bool lowered) {
  QC_ASSIGN(auto program, unplanned_device_program(graph, device, lowered));
  if (!program) return program;
  plan(*program);
  QC_TRY(verify(*program));
  return program;
}

}  // namespace qc
