#include "ops/common/window_padding.h"
#include "ops/conv/conv.h"
#include "ops/conv/qconv.h"

namespace qc {

/// Taps on padding are left out, as those outside are.
Result<Ok> Conv::pad(PaddedNode& c) {
  return pad_convolution(c, pads, [&](int64_t axis) -> Result<Ok> {
    if (!sum.is_standard()) return c.refuse("its sums have an order of their own");
    if (valid.empty())
      valid.assign(c.operands()[0]->shape().begin() + 2, c.operands()[0]->shape().end());
    valid[static_cast<size_t>(axis - 2)] = c.parts(0, axis)[0].size;
    return Ok{};
  });
}

/// Padding becomes the zero point, which adds nothing to an exact sum.
Result<Ok> QConv::pad(PaddedNode& c) {
  return pad_convolution(c, pads, [&](int64_t axis) -> Result<Ok> {
    constexpr size_t kScale = 3, kZero = 4;
    const std::vector<Value*>& x = c.operands();
    if (!x[0]->type().format) return c.refuse("taps outside it are left out of sums of floats");
    if (x.size() <= kScale || !x[kScale]) return c.fill(0, axis, Fill::zero);
    Value* zero = nullptr;  // of codes whose zero point is 0
    if (x.size() > kZero && x[kZero]) {
      QC_ASSIGN(zero, c.graph().emit("cast", {x[kZero]}, {{"to", x[0]->dtype()}}, c.loc()));
      QC_ASSIGN(zero, reshaped(c.graph(), zero, {}, c.loc()));
    }
    return c.fill(0, axis, zero);
  });
}

}  // namespace qc
