// Attention on codes by pairs of 16-bit numbers (kernels/qattention/portable.c).
#include "kernels/qattention/bind.h"
#include "program/estimate.h"

namespace qc {
namespace {

Result<Call> bind(const Call& call, Binder& binder) {
  return bind_queries(call, binder, "qattention_panels");
}

}  // namespace

void variants_qattention_portable(std::vector<Variant>& out) {
  out.push_back({.kernel = "qattention",
                 .name = "portable",
                 .cost = portable_at_peak<Peak::i16, 30>,
                 .refusal = no_refusal,
                 .bind = bind});
}

}  // namespace qc
