// Module: the Programs of one model, for several targets between which generated code chooses when
// it runs. They share constants and state, and have the same inputs and outputs.
#pragma once

#include "program/program.h"
#include "target/target.h"

namespace qc {

struct Module {
  struct TargetProgram {
    Target target;
    Program program;
  };
  /// Best first: a run takes the first whose target the processor has.
  std::vector<TargetProgram> programs;

  /// The module of one planned program.
  static Module of(Program program, Target target = all_targets()[0]) {
    Module module;
    module.programs.push_back({std::move(target), std::move(program)});
    return module;
  }
  /// What all parts have in common: sizes, ports and state.
  const Program& program() const { return programs.back().program; }
};

}  // namespace qc
