// The memory plan: order, sharing and places of all buffers.
#pragma once

#include <span>

#include "program/program.h"

namespace qc {

struct PlanOptions {
  bool reorder = true;  // choose an order of independent steps with a lower peak
  bool share = true;    // in-place results and vanishing copies
};

/// Places every arena buffer at an offset and every state in the state region. The arena is never
/// larger than with the model's own order. Answers do not depend on the options.
void plan(Program& program, const PlanOptions& options = {});
/// Plans programs of one structure (see program/shape_set.h) together: each buffer has the same
/// place in all of them, large enough for every one.
void plan(std::span<Program> programs, const PlanOptions& options = {});

}  // namespace qc
