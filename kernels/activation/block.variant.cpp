// Activations stored as codes, by blocks of threads (kernels/activation/block.cu).
#include "kernels/activation/calls.h"
#include "kernels/activation/selectors.h"
#include "kernels/quantize/block_bind.h"
#include "program/estimate.h"

namespace qc {
namespace {

std::string refusal(const Call& call, const Binder& binder) {
  return epilogue_refusal(call, binder, call.size("rows"), call.size("n"));
}
Result<Call> bind(const Call& call, Binder& binder) {
  return bind_epilogue(call, binder,
                       Binder::like(call, "activation_quantize_block",
                                    {"block", selectors::ActivationQuantize(call).op}),
                       call.size("rows"), call.size("n"));
}

}  // namespace

void variants_activation_block(std::vector<Variant>& out) {
  out.push_back({.kernel = "activation_quantize",
                 .name = "block",
                 .feature = "block",
                 .cost = moving,
                 .refusal = refusal,
                 .bind = bind});
}

}  // namespace qc
