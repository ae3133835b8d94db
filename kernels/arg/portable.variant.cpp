// Sorting by merges, between two lists of positions (kernels/arg/portable.c).
#include "program/estimate.h"
#include "program/variant.h"

namespace qc {
namespace {

std::string refusal(const Call&, const Binder&) { return {}; }

Result<Call> bind(const Call& call, Binder& binder) {
  Call c = Binder::like(call, "merge_sort", call.select);
  set_view(c, "scratch",
           binder.scratch(DType::i32, {max(Dim(1), Dim(2) * call.size("n"))}, "sort"));
  return c;
}

}  // namespace

void variants_arg_portable(std::vector<Variant>& out) {
  out.push_back({.kernel = "sort",
                 .name = "portable",
                 .cost = portable_at_peak<Peak::scalar, 50>,
                 .refusal = refusal,
                 .bind = bind});
}

}  // namespace qc
