// Evaluation and lowering of quantizing epilogues, shared by all op classes that have one.
#pragma once

#include "interp/eval.h"
#include "kernels/epilogue/calls.h"
#include "ops/quantize/scales.h"
#include "quant/quant_node.h"
#include "quant/quantize_epilogue.h"

namespace qc {

/// Writes the first results of a node with this epilogue from its float result `y`.
void eval_epilogue(const QuantizeEpilogue& epilogue, const Tensor& y, EvalContext& c,
                   const Type& codes);

/// The epilogue as kernels have it (kernels/common/quantize_epilogue.h).
Result<params::QuantizeOut> quantize_out(const Lowering& l, const QuantizeEpilogue& epilogue);
View epilogue_scales(Lowering& l, const QuantizeEpilogue& epilogue);
View epilogue_zeros(Lowering& l, const QuantizeEpilogue& epilogue);

/// Gives a call the epilogue of its node, whose first results are codes and what belongs to them.
template <class Call>
Result<Ok> lower_epilogue(Lowering& l, const QuantizeEpilogue& epilogue, Call& c) {
  QC_ASSIGN(c.quantize, quantize_out(l, epilogue));
  c.scales = epilogue_scales(l, epilogue);
  c.zeros = epilogue_zeros(l, epilogue);
  c.y = l.out(0);
  if (epilogue.dynamic) {
    c.y_scales = l.out(1);
    c.y_zeros = l.out(2);
  }
  if constexpr (requires { c.floats; }) {
    if (epilogue.floats) c.floats = l.out(epilogue.floats_at());
  }
  return Ok{};
}

/// Base of op classes that end in codes: how `store_unsigned` changes them.
class EndsInCodes : public StoresCodes {
 public:
  QuantizeEpilogue epilogue;

  bool counts_from_zero() const override { return !epilogue.dynamic; }
  Result<Ok> store_unsigned(Graph&, bool, bool results) override {
    if (results) epilogue.to = unsigned_codes(epilogue.to).value();
    return Ok{};
  }
};

}  // namespace qc
