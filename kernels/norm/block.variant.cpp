// Norms by blocks of threads (kernels/norm/block.cu).
#include "kernels/common/block_resident.h"
#include "kernels/common/codes.h"
#include "kernels/norm/calls.h"
#include "kernels/norm/selectors.h"
#include "kernels/quantize/block_bind.h"
#include "program/estimate.h"

namespace qc {
namespace {

std::string norm_refusal(const Call& call, const Binder& binder) {
  if (selectors::Norm(call).type != "f32") return "rows are not f32";
  return block_refusal(binder, call.size("n"));
}
Result<Call> bind_norm(const Call& call, Binder&) {
  return Binder::like(call, "norm_block", {"block"});
}

std::string quantize_refusal(const Call& call, const Binder& binder) {
  if (call.integer("x_type") != QK_F32 &&
      binder.largest(call.size("n")) > QK_BLOCK_RESIDENT_LONGEST)
    return "rows of codes are too long";
  return epilogue_refusal(call, binder, call.size("rows"), call.size("n"));
}
Result<Call> bind_quantize(const Call& call, Binder& binder) {
  return bind_epilogue(call, binder, Binder::like(call, "norm_quantize_block", {"block"}),
                       call.size("rows"), call.size("n"));
}

}  // namespace

void variants_norm_block(std::vector<Variant>& out) {
  out.push_back({.kernel = "norm",
                 .name = "block",
                 .feature = "block",
                 .cost = moving,
                 .refusal = norm_refusal,
                 .bind = bind_norm});
  out.push_back({.kernel = "norm_quantize",
                 .name = "block",
                 .feature = "block",
                 .cost = moving,
                 .refusal = quantize_refusal,
                 .bind = bind_quantize});
}

}  // namespace qc
