// qgrouped with weights in panels of 16 outputs and pairs of inputs (kernels/qgemm/portable.c).
#include "kernels/qgemm/calls.h"
#include "kernels/qgemm/selectors.h"
#include "program/estimate.h"

namespace qc {
namespace {

std::string refusal(const Call&, const Binder&) { return {}; }

Result<Call> bind(const Call& call, Binder& binder) {
  const auto p = params_as<params::QgroupedParams>(call);
  kernel::QgroupedPanels c(p);
  const kernel::QgemmPack pack(
      params::QgemmPackParams{p.groups, p.k, p.n, p.k * p.n, p.n, Dim(1), Dim(0)});
  c.w = binder.packed_by(call.operand("w"), pack, "qpanels", DType::i8,
                         {p.groups, ceildiv(p.n, 16), ceildiv(p.k, 2), 16, 2});
  c.index = selectors::Qgrouped(call).index;
  return Binder::bound(call, c);
}

}  // namespace

void variants_qgemm_portable_qgrouped(std::vector<Variant>& out) {
  out.push_back({.kernel = "qgrouped",
                 .name = "portable",
                 .cost = portable_at_peak<Peak::i16, 30>,
                 .refusal = refusal,
                 .bind = bind});
}

}  // namespace qc
