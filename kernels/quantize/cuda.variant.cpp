// quantize and dequantize of what is transposed (kernels/quantize/cuda.cu).
#include "kernels/quantize/calls.h"
#include "kernels/quantize/selectors.h"
#include "program/estimate.h"

namespace qc {
namespace {

std::string refusal(const Call&, const Binder&) { return {}; }

template <class From, class KernelCall, class Params>
Result<Call> bind(const Call& call, Binder&) {
  KernelCall c(params_as<Params>(call));
  c.machine = "cuda";
  c.codes = From(call).codes;
  return Binder::bound(call, c);
}

}  // namespace

void variants_quantize_cuda(std::vector<Variant>& out) {
  using Transposed = params::QuantizeTransposedParams;
  const auto add = [&](const char* kernel, auto bind) {
    out.push_back({.kernel = kernel,
                   .name = "cuda",
                   .feature = "cuda",
                   .cost = moving,
                   .refusal = refusal,
                   .bind = bind});
  };
  add("quantize_transposed",
      bind<selectors::QuantizeTransposed, kernel::QuantizeTransposedDevice, Transposed>);
  add("dequantize_transposed",
      bind<selectors::DequantizeTransposed, kernel::DequantizeTransposedDevice, Transposed>);
}

}  // namespace qc
