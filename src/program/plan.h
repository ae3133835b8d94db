// The memory plan: order, sharing and places of all buffers.
#pragma once

#include "program/program.h"

namespace qc {

struct PlanOptions {
  bool reorder = true;    // choose an order of independent steps with a lower peak
  bool share = true;      // in-place results and vanishing copies
  bool smallest = false;  // of free sizes: offsets follow them, so that small runs take little
};

/// Takes an order of independent steps with a lower peak where the arena gets smaller by it,
/// storage being shared or not as it will be. It is never larger than with the model's own order.
void reorder_steps(Program& program, bool share = true);
/// Changes states in place, lets copies vanish and results overwrite operands.
void share_storage(Program& program);
/// Places every arena buffer at an offset and every state in the state region. Where sizes are
/// free, offsets are those of the largest, or with `smallest` expressions that are as large there.
void place_buffers(Program& program, bool smallest = false);

/// All of it, in this order. Answers do not depend on the options.
void plan(Program& program, const PlanOptions& options = {});

}  // namespace qc
