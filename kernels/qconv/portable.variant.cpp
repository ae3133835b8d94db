// qconv with weights as the model has them (kernels/qconv/portable.c).
#include "kernels/qconv/estimate.h"
#include "kernels/qconv/selectors.h"

namespace qc {
namespace {

std::string refusal(const Call&, const Binder&) { return {}; }

Result<Call> bind(const Call& call, Binder&) {
  kernel::QconvPlain c(params_as<params::QconvParams>(call));
  const selectors::Qconv select(call);
  c.x_codes = select.x_codes;
  c.w_codes = select.w_codes;
  c.accumulator = select.accumulator;
  return Binder::bound(call, c);
}

}  // namespace

void variants_qconv_portable(std::vector<Variant>& out) {
  out.push_back({.kernel = "qconv",
                 .name = "portable",
                 .cost = qconv_cost<Peak::scalar, 5, 1>,
                 .refusal = refusal,
                 .bind = bind});
}

}  // namespace qc
