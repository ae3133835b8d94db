// What attention on codes computes, whatever becomes of its result.
#pragma once

#include "interp/eval.h"
#include "kernels/qattention/calls.h"
#include "ops/attention/scores.h"
#include "program/lowering.h"
#include "quant/quant_node.h"

namespace qc {

/// Operands: q, k, v, an optional mask (as in attention), then scale and zero point of q, of k and
/// of v where their formats carry them: one, or one per row of the last axis.
struct CodeAttention : AttentionScores {
  /// Where the scale of operand i stands; its zero point comes next.
  static constexpr size_t scale_operand(size_t i) { return 4 + 2 * i; }

  /// The shape of the result; an error where operands do not fit.
  Result<Dims> check_codes(const Node& node) const;
  /// The result as floats, or as codes of `to`.
  void compute(const Node& node, EvalContext& c, const QType& to, Tensor& y) const;
  /// All of a call but its result.
  Result<kernel::Qattention> call(const Node& node, Lowering& l) const;
  int64_t macs_of_codes(const Node& node) const;
  AccumulatorProof accumulators(const Node& node) const;
  bool takes_strides_of_codes(const Node& node, size_t operand) const;
};

/// One scale for the value, or one for each row of its last axis, known at run time.
bool has_row_scales(const Type& type);
/// The widest accumulators of attention over operands of these types.
AccumulatorProof attention_accumulators(const Type& q, const Type& k, const Type& v,
                                        const SymbolBounds& bounds);

}  // namespace qc
