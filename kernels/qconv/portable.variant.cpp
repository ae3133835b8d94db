// qconv with weights as the model has them (kernels/qconv/portable.c).
#include "kernels/qconv/calls.h"
#include "program/variant.h"

namespace qc {
namespace {

std::string refusal(const Call&, const Binder&) { return {}; }

Result<Call> bind(const Call& call, Binder&) {
  kernel::QconvPlain c(params_as<params::QconvParams>(call));
  c.x_codes = call.select[0];
  c.w_codes = call.select[1];
  c.accumulator = call.select[2];
  return Binder::bound(call, c);
}

}  // namespace

void variants_qconv_portable(std::vector<Variant>& out) {
  out.push_back({"qconv", "portable", "", 300, refusal, bind});
}

}  // namespace qc
