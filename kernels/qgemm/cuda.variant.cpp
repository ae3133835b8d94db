// qgemm, a result per thread, with weights as the call has them (kernels/qgemm/cuda.cu).
#include "kernels/qgemm/estimate.h"

namespace qc {
namespace {

std::string refusal(const Call&, const Binder&) { return {}; }
double cost(const Call& call, const Binder& binder) {
  return plain_nanoseconds(qgemm_size(call), binder.target().facts);
}

Result<Call> bind(const Call& call, Binder&) {
  kernel::QgemmDevice c(params_as<params::QgemmCall>(call));
  c.machine = "cuda";
  return Binder::bound(call, c);
}

}  // namespace

void variants_qgemm_cuda(std::vector<Variant>& out) {
  out.push_back({.kernel = "qgemm",
                 .name = "cuda",
                 .feature = "cuda",
                 .cost = cost,
                 .refusal = refusal,
                 .bind = bind});
}

}  // namespace qc
