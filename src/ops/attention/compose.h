// Attention as import rows see it: operands brought to four axes, masks made and joined, and the op
// itself, or the nodes it stands for where somebody wants to see the scores.
#pragma once

#include "ops/attention/attention.h"

namespace qc {

struct AttentionCall {
  Value *q = nullptr, *k = nullptr, *v = nullptr;  // [batch, heads, positions, depth]
  Value* mask = nullptr;                           // bool or float, broadcasts to the scores
  double scale = 0, softcap = 0;                   // scale 0: 1 / sqrt(depth)
  int64_t left = -1, right = -1;
  Dim offset;
};

/// The fused op; f16 and bf16 operands are computed in f32 and rounded once.
Result<Value*> emit_attention(const Import& m, AttentionCall call);

/// What attention computes on its way; see the modes of ONNX's qk_matmul_output.
struct AttentionSteps {
  Value *raw, *capped, *biased, *weights, *y;
};
/// Attention as matmul, softmax and their kin, each rounded to the operands' type; the softmax in
/// `precision`.
Result<AttentionSteps> emit_attention_steps(const Import& m, AttentionCall call, DType precision);

/// Which keys may be seen: bool, broadcasts to [batch, 1, queries, keys]. `valid` (i64 [batch], may
/// be null) is the number of keys of each sequence that count; the window then ends with the last
/// of them.
Result<Value*> visible_keys(const Import& m, const AttentionCall& call, Value* valid);

/// A mask that also hides the keys `visible` does not name; either may be null.
Result<Value*> joined_masks(const Import& m, Value* mask, Value* visible);

}  // namespace qc
