// Passes over Programs, in the order in which they follow lowering. They keep every bit.
#pragma once

#include "program/plan.h"
#include "program/select_kernels.h"

namespace qc {

struct ProgramPassContext {
  const Target& target;
  PackedConstants& constants;
  std::vector<KernelChoice>* choices = nullptr;  // as of select_kernels
  std::span<const ForcedKernel> forced = {};
  bool allow_host = false;  // as of select_kernels
  PlanOptions plan = {};
};

struct ProgramPass {
  const char* name;
  /// The least optimisation level that runs it; 0: always, for nothing runs without it.
  int level;
  Result<Ok> (*run)(Program& program, ProgramPassContext& context);
  const char* summary;
};

std::span<const ProgramPass> program_passes();

}  // namespace qc
