// The memory plan: order, sharing and places of all buffers.
#pragma once

#include "program/program.h"

namespace qc {

struct PlanOptions {
  bool reorder = true;  // choose an order of independent steps with a lower peak
  bool share = true;    // in-place results and vanishing copies
};

/// Places every arena buffer at an offset and every state in the state region, for the largest
/// sizes where they are free. The arena is never larger than with the model's own order. Answers do
/// not depend on the options.
void plan(Program& program, const PlanOptions& options = {});

}  // namespace qc
