// What op classes with an ending share: evaluating it and giving it to a kernel.
#pragma once

#include "interp/eval.h"
#include "ops/quantize/scales.h"
#include "quant/ending.h"
#include "quant/quant_node.h"

namespace qc {

/// Writes the first results of a node with this ending from its float result `y`.
void eval_ending(const Ending& ending, const Tensor& y, EvalContext& c, const Type& codes);

/// Numbers of an ending as kernels have them; kernels/common/ending.h says what each is.
struct EndingParams {
  int32_t mode = 0, lo = 0, hi = 0, symmetric = 0, reciprocal = 0;
  GroupLoops loops;
  Dim span = 1;
};
Result<EndingParams> ending_params(const Lowering& l, const Ending& ending);
View ending_scales(Lowering& l, const Ending& ending);
View ending_zeros(Lowering& l, const Ending& ending);

/// Gives a call the ending of its node, whose first results are codes and what belongs to them.
template <class Call>
Result<Ok> lower_ending(Lowering& l, const Ending& ending, Call& c) {
  QC_ASSIGN(const EndingParams p, ending_params(l, ending));
  c.e_mode = p.mode;
  c.e_lo = p.lo;
  c.e_hi = p.hi;
  c.e_symmetric = p.symmetric;
  c.e_reciprocal = p.reciprocal;
  c.e_span = p.span;
  c.e_axis = p.loops.axis;
  c.e_inner = p.loops.inner;
  c.e_group = p.loops.group;
  c.e_s_outer = p.loops.s_outer;
  c.e_s_axis = p.loops.s_axis;
  c.e_s_inner = p.loops.s_inner;
  c.e_size = bits(l.out_type().dtype) > 8 ? 2 : 1;
  c.scales = ending_scales(l, ending);
  c.zeros = ending_zeros(l, ending);
  c.y = l.out(0);
  if (ending.dynamic) {
    c.y_scales = l.out(1);
    c.y_zeros = l.out(2);
  }
  c.e_keep = ending.floats ? 1 : 0;
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
