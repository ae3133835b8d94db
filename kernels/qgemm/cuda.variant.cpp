// qgemm, a result per thread, with weights as the call has them (kernels/qgemm/cuda.cu).
#include "kernels/qgemm/calls.h"
#include "program/variant.h"

namespace qc {
namespace {

std::string refusal(const Call&, const Binder&) { return {}; }

Result<Call> bind(const Call& call, Binder&) {
  kernel::QgemmDevice c(params_as<params::QgemmCall>(call));
  c.machine = "cuda";
  return Binder::bound(call, c);
}

}  // namespace

void variants_qgemm_cuda(std::vector<Variant>& out) {
  out.push_back({"qgemm", "cuda", "cuda", 100, refusal, bind});
}

}  // namespace qc
