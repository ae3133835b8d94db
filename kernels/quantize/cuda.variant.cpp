// quantize and dequantize of what is turned (kernels/quantize/cuda.cu).
#include "kernels/quantize/calls.h"
#include "program/variant.h"

namespace qc {
namespace {

std::string refusal(const Call&, const Binder&) { return {}; }

template <class KernelCall, class Params>
Result<Call> bind(const Call& call, Binder&) {
  KernelCall c(params_as<Params>(call));
  c.machine = "cuda";
  c.codes = call.select[0];
  return Binder::bound(call, c);
}

}  // namespace

void variants_quantize_cuda(std::vector<Variant>& out) {
  using Turned = params::QuantizeTurnedParams;
  const auto add = [&](const char* kernel, auto bind) {
    out.push_back({kernel, "cuda", "cuda", 100, refusal, bind});
  };
  add("quantize_turned", bind<kernel::QuantizeTurnedDevice, Turned>);
  add("dequantize_turned", bind<kernel::DequantizeTurnedDevice, Turned>);
}

}  // namespace qc
