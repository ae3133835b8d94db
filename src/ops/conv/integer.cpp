// Convolutions of integers, which no layer of a network has but a model may compute: one product of
// matrices for every tap of the window, wrapping as PyTorch's do.
#include "ops/conv/integer.h"

#include "ops/common/range.h"
#include "ops/common/tap_sums.h"

namespace qc {

Result<Value*> integer_conv(const Import& m, Value* x, Value* w, Value* bias, const Window& window,
                            int64_t groups) {
  const Dims &xs = x->shape(), &ws = w->shape();
  if (groups < 1 || !(xs[1] == ws[1] * Dim(groups)) || !(mod(ws[0], Dim(groups)) == Dim(0)) ||
      w->dtype() != x->dtype()) {
    return m.fail(Code::shape, "convolution of {} with weights {} in {} groups", str(x->type()),
                  str(w->type()), groups);
  }
  const Dim group(groups), outputs = ws[0], inputs = ws[1];
  const Dim taps = product(Dims(ws.begin() + 2, ws.end()));
  QC_ASSIGN(Value * flat, reshaped(m, w, {group, floordiv(outputs, group), inputs, taps}));
  Dims shape;
  QC_ASSIGN(Value * y, tap_sums(m, x, window, [&](Value* part, int64_t tap) -> Result<Value*> {
              shape = part->shape();
              const Dim positions = product(Dims(shape.begin() + 2, shape.end()));
              QC_ASSIGN(part, reshaped(m, part, {shape[0], group, inputs, positions}));
              QC_ASSIGN(Value * weights, take(m, flat, 3, {Dim(tap), Dim(1), Dim(1)}));
              QC_ASSIGN(weights, reshaped(m, weights, {group, floordiv(outputs, group), inputs}));
              return m.emit("matmul", {weights, part});
            }));
  shape[1] = outputs;
  QC_ASSIGN(y, reshaped(m, y, shape));
  if (!bias) return y;
  Dims column(shape.size() - 1, Dim(1));
  column[0] = outputs;
  QC_ASSIGN(bias, reshaped(m, bias, column));
  return m.emit("add", {y, bias});
}

}  // namespace qc
