// Rotations stored as codes, some rows at a time (kernels/rotary/portable.c).
#include "kernels/quantize/epilogue_bind.h"
#include "kernels/rotary/bind.h"
#include "program/estimate.h"

namespace qc {
namespace {

Result<Call> bind(const Call& call, Binder& binder) {
  return bind_rows(call, binder, "rotary_quantize_rows", rows_of(call), length_of(call));
}

}  // namespace

void variants_rotary_portable(std::vector<Variant>& out) {
  out.push_back({.kernel = "rotary_quantize",
                 .name = "portable",
                 .cost = portable_at_peak<Peak::f32, 50>,
                 .refusal = no_refusal,
                 .bind = bind});
}

}  // namespace qc
