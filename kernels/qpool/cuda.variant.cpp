// qpool, an output per thread (kernels/qpool/cuda.cu).
#include "kernels/qpool/calls.h"
#include "program/variant.h"

namespace qc {
namespace {

std::string refusal(const Call&, const Binder&) { return {}; }

Result<Call> bind(const Call& call, Binder&) {
  kernel::QpoolDevice c(params_as<params::QpoolParams>(call));
  c.machine = "cuda";
  c.arithmetic = call.select[0];
  return Binder::bound(call, c);
}

}  // namespace

void variants_qpool_cuda(std::vector<Variant>& out) {
  out.push_back({"qpool", "cuda", "cuda", 100, refusal, bind});
}

}  // namespace qc
