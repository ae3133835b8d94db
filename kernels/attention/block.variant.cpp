// Attention by blocks of threads (kernels/attention/block.cu).
#include "kernels/attention/calls.h"
#include "program/estimate.h"

namespace qc {
namespace {

constexpr int64_t kMostKeys = 8192;

std::string refusal(const Call& call, const Binder& binder) {
  if (binder.dot() != DotStep::fma) return "products are rounded before they are added";
  return binder.largest(call.size("keys")) > kMostKeys ? "there are too many keys" : "";
}
Result<Call> bind(const Call& call, Binder&) {
  return Binder::like(call, "attention_block", {"block"});
}

}  // namespace

void variants_attention_block(std::vector<Variant>& out) {
  out.push_back({.kernel = "attention",
                 .name = "block",
                 .feature = "block",
                 .cost = at_peak<Peak::f32, 20>,
                 .refusal = refusal,
                 .bind = bind});
}

}  // namespace qc
