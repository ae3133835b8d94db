// Programs that check indices: what a run found lies at the start of the arena (kernels/bad_index).
#pragma once

#include "program/program.h"

namespace qc {

/// A check of a program, by its number: the layer, and what it takes.
struct NumberedCheck {
  int64_t number = 0;
  Loc loc;
  std::string takes;  // "-4 to 3"

  /// As generated code says it.
  std::string text() const;
};

/// The last output, of a program whose steps are not selected yet, becomes the record.
void take_index_record(Program& program);
/// Gives the record its place, before all other buffers of the arena.
void pin_index_record(Program& program);
/// In the order of the steps, each once.
std::vector<NumberedCheck> numbered_checks(const Program& program);
/// What a run found: the number of a check, and the index.
Diag index_error(const Program& program, int64_t number, int64_t index);

}  // namespace qc
