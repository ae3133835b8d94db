// strided, an element per thread (kernels/strided/cuda.cu).
#include "kernels/strided/calls.h"
#include "program/variant.h"

namespace qc {
namespace {

std::string refusal(const Call&, const Binder&) { return {}; }

Result<Call> bind(const Call& call, Binder&) {
  kernel::StridedDevice c(params_as<params::StridedParams>(call));
  c.machine = "cuda";
  c.bytes = call.select[0];
  return Binder::bound(call, c);
}

}  // namespace

void variants_strided_cuda(std::vector<Variant>& out) {
  out.push_back({"strided", "cuda", "cuda", 100, refusal, bind});
}

}  // namespace qc
