#include "program/passes.h"

#include "program/device.h"
#include "program/fuse_epilogues.h"
#include "program/size_conditions.h"

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

Result<Ok> move(Program& program, ProgramPassContext& context) {
  if (!context.target.device) return Ok{};
  decide_by_sizes(program);
  move_to_device(program);
  return Ok{};
}

Result<Ok> reorder(Program& program, ProgramPassContext& context) {
  reorder_steps(program, context.plan.share);
  return Ok{};
}

Result<Ok> share(Program& program, ProgramPassContext&) {
  share_storage(program);
  return Ok{};
}

Result<Ok> place(Program& program, ProgramPassContext& context) {
  place_buffers(program, context.plan.smallest);
  return Ok{};
}

constexpr ProgramPass kPasses[] = {
    {"fuse_epilogues", 1, fuse, "additions and limits after a product become stages of its call"},
    {"select_kernels", 0, select,
     "calls get the body that computes them, weights are packed for it"},
    {"move_to_device", 0, move,
     "buffers lie in the memory of the target's device, ports are copied to and from it"},
    {"reorder_steps", 2, reorder, "independent steps run in an order that needs less memory"},
    {"share_storage", 1, share, "results overwrite operands, copies vanish"},
    {"place_buffers", 0, place, "every buffer gets its place in the arena"},
};

}  // namespace

std::span<const ProgramPass> program_passes() { return kPasses; }

}  // namespace qc
