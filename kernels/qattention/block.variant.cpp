// Attention on codes by blocks of threads, a query each (kernels/qattention/block.cu).
#include "kernels/qattention/block_bind.h"
#include "program/estimate.h"

namespace qc {
namespace {

constexpr int64_t kMostKeys = 8192;

std::string refusal(const Call& call, const Binder& binder) {
  return attention_refusal(call, binder, kMostKeys);
}
Result<Call> bind(const Call& call, Binder& binder) {
  return bind_attention(call, binder, "block");
}

}  // namespace

void variants_qattention_block(std::vector<Variant>& out) {
  out.push_back({.kernel = "qattention",
                 .name = "block",
                 .feature = "block",
                 .cost = at_peak<Peak::i8, 20>,
                 .refusal = refusal,
                 .bind = bind});
}

}  // namespace qc
