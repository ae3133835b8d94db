// Softmax stored as codes, some rows at a time (kernels/softmax/portable.c).
#include "kernels/quantize/epilogue_bind.h"
#include "program/estimate.h"

namespace qc {
namespace {

Result<Call> bind(const Call& call, Binder& binder) {
  return bind_rows(call, binder, "softmax_quantize_rows", call.size("outer"),
                   call.size("n") * call.size("inner"));
}

}  // namespace

void variants_softmax_portable(std::vector<Variant>& out) {
  out.push_back({.kernel = "softmax_quantize",
                 .name = "portable",
                 .cost = portable_at_peak<Peak::f32, 50>,
                 .refusal = no_refusal,
                 .bind = bind});
}

}  // namespace qc
