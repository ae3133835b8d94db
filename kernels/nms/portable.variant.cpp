// Boxes in the order of their scores (kernels/nms/portable.c).
#include "program/estimate.h"
#include "program/variant.h"

namespace qc {
namespace {

std::string refusal(const Call&, const Binder&) { return {}; }

Result<Call> bind(const Call& call, Binder& binder) {
  Call c = Binder::like(call, "nms_ordered");
  set_view(c, "scratch",
           binder.scratch(DType::i32, {max(Dim(1), call.size("boxes"))}, "boxes left"));
  return c;
}

}  // namespace

void variants_nms_portable(std::vector<Variant>& out) {
  out.push_back({.kernel = "nms",
                 .name = "portable",
                 .cost = portable_at_peak<Peak::scalar, 50>,
                 .refusal = refusal,
                 .bind = bind});
}

}  // namespace qc
