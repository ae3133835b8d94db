// Rotations stored as codes, by blocks of threads (kernels/rotary/block.cu).
#include "kernels/quantize/block_bind.h"
#include "kernels/rotary/bind.h"
#include "kernels/rotary/calls.h"
#include "program/estimate.h"

namespace qc {
namespace {

std::string refusal(const Call& call, const Binder& binder) {
  return epilogue_refusal(call, binder, rows_of(call), length_of(call));
}
Result<Call> bind(const Call& call, Binder& binder) {
  return bind_epilogue(call, binder, Binder::like(call, "rotary_quantize_block", {"block"}),
                       rows_of(call), length_of(call));
}

}  // namespace

void variants_rotary_block(std::vector<Variant>& out) {
  out.push_back({.kernel = "rotary_quantize",
                 .name = "block",
                 .feature = "block",
                 .cost = moving,
                 .refusal = refusal,
                 .bind = bind});
}

}  // namespace qc
