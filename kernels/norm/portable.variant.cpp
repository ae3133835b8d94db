// Norms stored as codes, some rows at a time (kernels/norm/portable.c).
#include "kernels/quantize/epilogue_bind.h"
#include "program/estimate.h"

namespace qc {
namespace {

Result<Call> bind(const Call& call, Binder& binder) {
  return bind_rows(call, binder, "norm_quantize_rows", call.size("rows"), call.size("n"));
}

}  // namespace

void variants_norm_portable(std::vector<Variant>& out) {
  out.push_back({.kernel = "norm_quantize",
                 .name = "portable",
                 .cost = portable_at_peak<Peak::f32, 50>,
                 .refusal = no_refusal,
                 .bind = bind});
}

}  // namespace qc
