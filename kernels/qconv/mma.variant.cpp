// qconv on tensor cores (kernels/qconv/mma.cu).
#include "kernels/common/codes.h"
#include "kernels/qconv/mma_bind.h"
#include "kernels/qconv/qconv.h"

namespace qc {
namespace {

std::string refusal(const Call& call, const Binder& binder) {
  const auto p = params_as<params::QconvParams>(call);
  if (!(p.last == 1)) return "operands are not channels-last";
  if (!(p.groups == 1)) return "it has groups";
  if (call.select[1] != "i8" || call.select[2] != "i32") return "sums take 64 bits";
  return mma_refusal(call, binder, p.x_type);
}

Result<Call> bind(const Call& call, Binder& binder) {
  Call out = Binder::like(call, "qconv_blocks", {"mma"});
  const auto p = c_params<qk_qconv_params>(call);
  const int64_t taps = int64_t{p.k[0]} * p.k[1] * p.k[2];
  const int64_t rows = int64_t{p.n} * p.out[0] * p.out[1] * p.out[2];
  pack_mma(out, call, binder, {p.oc, taps, p.ic, p.ic * taps, 1, taps, false}, rows);
  return out;
}

}  // namespace

void variants_qconv_mma(std::vector<Variant>& out) {
  out.push_back({"qconv", "mma", "mma", 50, refusal, bind});
}

}  // namespace qc
