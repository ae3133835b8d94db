// Softmax by blocks of threads (kernels/softmax/block.cu).
#include "kernels/quantize/block_bind.h"
#include "kernels/softmax/calls.h"
#include "kernels/softmax/selectors.h"
#include "program/estimate.h"

namespace qc {
namespace {

std::string inner_refusal(const Call& call) {
  return call.size("inner") == 1 ? "" : "rows are no neighbours in memory";
}

std::string softmax_refusal(const Call& call, const Binder& binder) {
  if (selectors::Softmax(call).type != "f32") return "rows are not f32";
  if (std::string why = inner_refusal(call); !why.empty()) return why;
  return block_refusal(binder, call.size("n"));
}
Result<Call> bind_softmax(const Call& call, Binder&) {
  return Binder::like(call, "softmax_block", {"block", selectors::Softmax(call).op});
}

std::string quantize_refusal(const Call& call, const Binder& binder) {
  if (std::string why = inner_refusal(call); !why.empty()) return why;
  return epilogue_refusal(call, binder, call.size("outer"), call.size("n"));
}
Result<Call> bind_quantize(const Call& call, Binder& binder) {
  return bind_epilogue(call, binder, Binder::like(call, "softmax_quantize_block", {"block"}),
                       call.size("outer"), call.size("n"));
}

}  // namespace

void variants_softmax_block(std::vector<Variant>& out) {
  out.push_back({.kernel = "softmax",
                 .name = "block",
                 .feature = "block",
                 .cost = moving,
                 .refusal = softmax_refusal,
                 .bind = bind_softmax});
  out.push_back({.kernel = "softmax_quantize",
                 .name = "block",
                 .feature = "block",
                 .cost = moving,
                 .refusal = quantize_refusal,
                 .bind = bind_quantize});
}

}  // namespace qc
