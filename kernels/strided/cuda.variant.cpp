// strided, an element per thread (kernels/strided/cuda.cu).
#include "kernels/strided/calls.h"
#include "kernels/strided/selectors.h"
#include "program/estimate.h"

namespace qc {
namespace {

std::string refusal(const Call&, const Binder&) { return {}; }

Result<Call> bind(const Call& call, Binder&) {
  kernel::StridedDevice c(params_as<params::StridedParams>(call));
  c.machine = "cuda";
  c.bytes = selectors::Strided(call).bytes;
  return Binder::bound(call, c);
}

}  // namespace

void variants_strided_cuda(std::vector<Variant>& out) {
  out.push_back({.kernel = "strided",
                 .name = "cuda",
                 .feature = "cuda",
                 .cost = moving,
                 .refusal = refusal,
                 .bind = bind});
}

}  // namespace qc
