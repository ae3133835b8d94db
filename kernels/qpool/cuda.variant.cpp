// qpool, an output per thread (kernels/qpool/cuda.cu).
#include "kernels/qpool/calls.h"
#include "kernels/qpool/selectors.h"
#include "program/estimate.h"

namespace qc {
namespace {

std::string refusal(const Call&, const Binder&) { return {}; }

Result<Call> bind(const Call& call, Binder&) {
  kernel::QpoolDevice c(params_as<params::QpoolParams>(call));
  c.machine = "cuda";
  c.arithmetic = selectors::Qpool(call).arithmetic;
  return Binder::bound(call, c);
}

}  // namespace

void variants_qpool_cuda(std::vector<Variant>& out) {
  out.push_back({.kernel = "qpool",
                 .name = "cuda",
                 .feature = "cuda",
                 .cost = moving,
                 .refusal = refusal,
                 .bind = bind});
}

}  // namespace qc
