// The memory plan: order, sharing and places of all buffers.
#pragma once

#include "program/program.h"

namespace qc {

struct PlanOptions {
  bool reorder = true;    // choose an order of independent steps with a lower peak
  bool share = true;      // in-place results and vanishing copies
  bool smallest = false;  // of free sizes: offsets follow them, so that small runs take little
};

/// Places every arena buffer at an offset and every state in the state region. Where sizes are
/// free, offsets are those of the largest, or with `smallest` expressions that are as large there.
/// The arena is never larger than with the model's own order. Answers do not depend on the options.
void plan(Program& program, const PlanOptions& options = {});

}  // namespace qc
