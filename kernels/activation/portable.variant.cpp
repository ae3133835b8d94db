// Activations stored as codes, some rows at a time (kernels/activation/portable.c).
#include "kernels/quantize/epilogue_bind.h"
#include "program/estimate.h"

namespace qc {
namespace {

Result<Call> bind(const Call& call, Binder& binder) {
  return bind_rows(call, binder, "activation_quantize_rows", call.size("rows"), call.size("n"));
}

}  // namespace

void variants_activation_portable(std::vector<Variant>& out) {
  out.push_back({.kernel = "activation_quantize",
                 .name = "portable",
                 .cost = portable_at_peak<Peak::f32, 50>,
                 .refusal = no_refusal,
                 .bind = bind});
}

}  // namespace qc
