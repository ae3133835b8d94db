// gemm with weights in panels of 16 outputs (kernels/gemm/portable.c).
#include "kernels/gemm/bind.h"
#include "program/estimate.h"

namespace qc {
namespace {

std::string refusal(const Call&, const Binder&) { return {}; }

Result<Call> bind(const Call& call, Binder& binder) {
  const bool one = call.size("w_batch") == 0;
  const PlainMatrices w{one ? Dim(1) : call.size("batch"),
                        call.size("k"),
                        call.size("n"),
                        one ? call.size("k") * call.size("n") : call.size("w_batch"),
                        call.size("w_k"),
                        call.size("w_n")};
  Call c = Binder::like(call, "gemm_panels");
  QC_ASSIGN(View panels, float_panels(binder, call.operand("w"), w));
  set_view(c, "w", std::move(panels));
  set_integer(c, "w_batch", one ? Dim(0) : panel_elements(w));
  return c;
}

}  // namespace

void variants_gemm_portable(std::vector<Variant>& out) {
  out.push_back({.kernel = "gemm",
                 .name = "portable",
                 .cost = portable_at_peak<Peak::f32, 50>,
                 .refusal = refusal,
                 .bind = bind});
}

}  // namespace qc
