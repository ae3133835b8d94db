// qconv, an output per thread, with weights as the model has them (kernels/qconv/cuda.cu).
#include "kernels/qconv/estimate.h"
#include "kernels/qconv/selectors.h"

namespace qc {
namespace {

std::string refusal(const Call&, const Binder&) { return {}; }
double cost(const Call& call, const Binder& binder) {
  return plain_nanoseconds(qconv_size(call), binder.target().facts);
}

Result<Call> bind(const Call& call, Binder&) {
  kernel::QconvDevice c(params_as<params::QconvParams>(call));
  c.machine = "cuda";
  const selectors::Qconv select(call);
  c.w_codes = select.w_codes;
  c.accumulator = select.accumulator;
  return Binder::bound(call, c);
}

}  // namespace

void variants_qconv_cuda(std::vector<Variant>& out) {
  out.push_back({.kernel = "qconv",
                 .name = "cuda",
                 .feature = "cuda",
                 .cost = cost,
                 .refusal = refusal,
                 .bind = bind});
}

}  // namespace qc
