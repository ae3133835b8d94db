// quantize and dequantize, an element per thread (kernels/quantize/cuda.cu).
#include "kernels/quantize/calls.h"
#include "program/variant.h"

namespace qc {
namespace {

std::string refusal(const Call&, const Binder&) { return {}; }

template <class KernelCall>
Result<Call> bind(const Call& call, Binder&) {
  KernelCall c(params_as<qk_quantize_params>(call));
  c.machine = "cuda";
  c.codes = call.select[0];
  return Binder::bound(call, c);
}

}  // namespace

void variants_quantize_cuda(std::vector<Variant>& out) {
  out.push_back({"quantize", "cuda", "cuda", 100, refusal, bind<kernel::QuantizeDevice>});
  out.push_back({"dequantize", "cuda", "cuda", 100, refusal, bind<kernel::DequantizeDevice>});
}

}  // namespace qc
