// Attention on codes on tensor cores (kernels/qattention/mma.cu).
#include "kernels/qattention/block_bind.h"
#include "kernels/qattention/mma_stage.h"
#include "program/estimate.h"

namespace qc {
namespace {

/// Fewer queries leave most of a block's warps without work: a block for each is faster.
constexpr int64_t kFewestQueries = 16;

std::string refusal(const Call& call, const Binder& binder) {
  if (binder.largest(call.size("queries")) < kFewestQueries) return "there are few queries";
  if (binder.largest(call.size("depth")) > QK_MMA_DEPTH) return "heads are too deep";
  return attention_refusal(call, binder, QK_MMA_MOST_KEYS);
}
Result<Call> bind(const Call& call, Binder& binder) { return bind_attention(call, binder, "mma"); }

}  // namespace

void variants_qattention_mma(std::vector<Variant>& out) {
  out.push_back({.kernel = "qattention",
                 .name = "mma",
                 .feature = "mma",
                 .cost = at_peak<Peak::tensor, 20>,
                 .refusal = refusal,
                 .bind = bind});
}

}  // namespace qc
