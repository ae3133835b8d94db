#include "ops/attention/attention.h"

namespace qc {

/// Keys that are padding are hidden, by the window of a causal attention or by a mask; their weight
/// is then 0, and minus zero among the values adds nothing.
Result<Ok> Attention::pad(PaddedNode& c) {
  enum Operands : size_t { kQ, kK, kV, kMask };
  for (size_t i : {kQ, kK, kV}) {
    if (c.is_padded(i, 1) || c.is_padded(i, 3)) return c.refuse("it mixes elements along it");
    if (c.parts(i, 0) != c.parts(kQ, 0)) return c.refuse("its operands are padded differently");
  }
  const AxisParts& keys = c.parts(kK, 2);
  if (keys != c.parts(kV, 2)) return c.refuse("its operands are padded differently");
  if (!keys.empty()) {
    QC_TRY(c.fill(kV, 2, Fill::minus_zero));
    const bool causal = right == 0 && offset == Dim(0) && c.shape(kQ)[2] == c.shape(kK)[2];
    const bool masked = c.operands().size() > kMask && c.operands()[kMask];
    const int64_t last = masked ? std::ssize(c.shape(kMask)) - 1 : 0;
    if (masked && c.is_padded(kMask, last)) {
      const bool keep = c.operands()[kMask]->dtype() == DType::boolean;
      QC_TRY(c.fill(kMask, last, keep ? Fill::zero : Fill::lowest));
      if (!keep) QC_TRY(c.fill(kK, 2, Fill::zero));
    } else if (masked && !causal) {
      return c.refuse("its mask is one for all keys");
    } else if (!masked && !causal) {
      QC_ASSIGN(Value * meant, c.meant(keys));
      c.set_operand(kMask, meant);
    }
  }
  c.set_result(c.padding(kQ));
  return Ok{};
}

}  // namespace qc
