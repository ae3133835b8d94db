// What op classes with an ending share: evaluating it and giving it to a kernel.
#pragma once

#include "interp/eval.h"
#include "kernels/epilogue/calls.h"
#include "ops/quantize/scales.h"
#include "quant/ending.h"
#include "quant/quant_node.h"

namespace qc {

/// Writes the first results of a node with this ending from its float result `y`.
void eval_ending(const Ending& ending, const Tensor& y, EvalContext& c, const Type& codes);

/// What kernels are told of an ending (kernels/common/ending.h).
Result<params::QuantizeOut> quantize_out(const Lowering& l, const Ending& ending);
View ending_scales(Lowering& l, const Ending& ending);
View ending_zeros(Lowering& l, const Ending& ending);

/// Gives a call the ending of its node, whose first results are codes and what belongs to them.
template <class Call>
Result<Ok> lower_ending(Lowering& l, const Ending& ending, Call& c) {
  QC_ASSIGN(c.quantize, quantize_out(l, ending));
  c.scales = ending_scales(l, ending);
  c.zeros = ending_zeros(l, ending);
  c.y = l.out(0);
  if (ending.dynamic) {
    c.y_scales = l.out(1);
    c.y_zeros = l.out(2);
  }
  if constexpr (requires { c.floats; }) {
    if (ending.floats) c.floats = l.out(ending.floats_at());
  }
  return Ok{};
}

/// Base of op classes that end in codes: how `store_unsigned` changes them.
class EndsInCodes : public StoresCodes {
 public:
  Ending ending;

  bool counts_from_zero() const override { return !ending.dynamic; }
  Result<Ok> store_unsigned(Graph&, bool, bool results) override {
    if (results) ending.to = unsigned_codes(ending.to).value();
    return Ok{};
  }
};

}  // namespace qc
