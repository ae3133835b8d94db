// The memory plan: order, sharing and places of all buffers.
#pragma once

#include "program/program.h"

namespace qc {

/// Which of the passes that let buffers share storage run.
struct Sharing {
  bool states = true;    // update_states_in_place
  bool copies = true;    // elide_copies
  bool in_place = true;  // share_in_place
};

struct PlanOptions {
  bool reorder = true;    // choose an order of independent steps with a lower peak
  Sharing share = {};     // states in place, vanishing copies, results over operands
  bool smallest = false;  // of free sizes: offsets follow them, so that small runs take little
};

/// Takes an order of independent steps with a lower peak where the arena gets smaller by it,
/// storage being shared as it will be. It is never larger than with the model's own order.
void reorder_steps(Program& program, const Sharing& share = {});
/// Places every arena buffer at an offset and every state in the state region. Where sizes are
/// free, offsets are those of the largest, or with `smallest` expressions that are as large there.
void assign_offsets(Program& program, bool smallest = false);

/// All of it, in this order. Answers do not depend on the options.
void plan(Program& program, const PlanOptions& options = {});

}  // namespace qc
