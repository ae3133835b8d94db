// qconv, an output per thread, with weights as the model has them (kernels/qconv/cuda.cu).
#include "kernels/qconv/calls.h"
#include "program/variant.h"

namespace qc {
namespace {

std::string refusal(const Call&, const Binder&) { return {}; }

Result<Call> bind(const Call& call, Binder&) {
  kernel::QconvDevice c(params_as<params::QconvParams>(call));
  c.machine = "cuda";
  c.w_codes = call.select[1];
  c.accumulator = call.select[2];
  return Binder::bound(call, c);
}

}  // namespace

void variants_qconv_cuda(std::vector<Variant>& out) {
  out.push_back({"qconv", "cuda", "cuda", 100, refusal, bind});
}

}  // namespace qc
