// Programs with the kernels for CUDA, run in process: thread after thread.
#pragma once

#include <optional>

#include "program/device.h"
#include "program/lowering.h"
#include "program/plan.h"
#include "program/select_kernels.h"

namespace qc {

/// Targets whose kernels differ.
constexpr const char* kDevices[] = {"cuda", "cuda:sm_80"};

/// The planned program of a graph for a device; none where the target lacks a kernel.
inline Result<std::optional<Program>> device_program(const Graph& graph, std::string_view device) {
  PackedConstants constants;
  QC_ASSIGN(Program program, lower(graph, constants));
  QC_ASSIGN(const Target target, find_target(device));
  const Result<Ok> selected = select_kernels(program, target, constants);
  if (!selected.ok() && selected.diag().code == Code::unsupported) return std::optional<Program>();
  QC_TRY(selected);
  move_to_device(program);
  plan(program);
  QC_TRY(verify(program));
  return std::optional<Program>(std::move(program));
}

}  // namespace qc
