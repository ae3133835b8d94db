#include "program/passes.h"

#include "program/device.h"
#include "program/fuse_epilogues.h"
#include "program/share.h"
#include "program/size_conditions.h"
#include "program/state_in_place.h"

namespace qc {
namespace {

Result<Ok> fuse(Program& program, ProgramPassContext&) {
  fuse_epilogues(program);
  return Ok{};
}

Result<Ok> select(Program& program, ProgramPassContext& context) {
  return select_kernels(program, context.target, context.constants, context.choices, context.forced,
                        context.allow_host);
}

Result<Ok> decide(Program& program, ProgramPassContext& context) {
  if (context.target.device) decide_by_sizes(program);
  return Ok{};
}

Result<Ok> move(Program& program, ProgramPassContext& context) {
  if (context.target.device) move_to_device(program);
  return Ok{};
}

Result<Ok> reorder(Program& program, ProgramPassContext& context) {
  reorder_steps(program, context.plan.share);
  return Ok{};
}

Result<Ok> keep_states(Program& program, ProgramPassContext&) {
  update_states_in_place(program);
  return Ok{};
}

Result<Ok> elide(Program& program, ProgramPassContext&) {
  elide_copies(program);
  return Ok{};
}

Result<Ok> share(Program& program, ProgramPassContext&) {
  share_in_place(program);
  return Ok{};
}

Result<Ok> assign(Program& program, ProgramPassContext& context) {
  assign_offsets(program, context.plan.smallest);
  return Ok{};
}

constexpr ProgramPass kPasses[] = {
    {"fuse_epilogues", 1, fuse, "additions and limits after a product become stages of its call"},
    {"select_kernels", 0, select,
     "calls get the body that computes them, weights are packed for it"},
    {"decide_by_sizes", 0, decide,
     "for devices: conditions on sizes are decided before the run, not by its steps"},
    {"move_to_device", 0, move,
     "buffers lie in the memory of the target's device, ports are copied to and from it"},
    {"reorder_steps", 2, reorder, "independent steps run in an order that needs less memory"},
    {"update_states_in_place", 1, keep_states,
     "what a run appends is written into the state itself"},
    {"elide_copies", 1, elide, "copies vanish where their source can be written in their place"},
    {"share_in_place", 1, share, "results overwrite operands that die there"},
    {"assign_offsets", 0, assign, "every buffer gets its place in the arena"},
};

}  // namespace

std::span<const ProgramPass> program_passes() { return kPasses; }

}  // namespace qc
