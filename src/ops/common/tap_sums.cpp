#include "ops/common/tap_sums.h"

#include "ops/common/range.h"

namespace qc {
namespace {

constexpr int64_t kMostTaps = 256;  // each is a few nodes

/// x inside zeros.
Result<Value*> padded(const Import& m, Value* x, const Window& w) {
  const size_t axes = w.kernel.size();
  Dims before(axes + 2), after(axes + 2);
  for (size_t i = 0; i < axes; ++i) {
    before[2 + i] = Dim(w.pads[i]);
    after[2 + i] = Dim(w.pads[axes + i]);
  }
  if (w.pads == Ints(2 * axes, 0)) return x;
  return m.emit("pad", {x}, {{"before", before}, {"after", after}});
}

}  // namespace

Result<Value*> tap_sums(const Import& m, Value* x, const Window& w,
                        const std::function<Result<Value*>(Value*, int64_t)>& term) {
  const size_t axes = w.kernel.size();
  QC_TRY(check_window(w.kernel, w.strides, w.dilations, w.pads, axes, m.loc()));
  int64_t taps = 1;
  std::vector<Range> ranges{{Dim(0), x->shape()[0], Dim(1)}, {Dim(0), x->shape()[1], Dim(1)}};
  for (size_t i = 0; i < axes; ++i) {
    taps = taps > kMostTaps ? taps : taps * w.kernel[i];
    QC_ASSIGN(const Dim size,
              window_extent(x->shape()[2 + i], w.kernel[i], w.strides[i], w.dilations[i], w.pads[i],
                            w.pads[axes + i], false, m.loc()));
    ranges.push_back({Dim(0), size, Dim(w.strides[i])});
  }
  if (taps > kMostTaps) {
    return m.fail(Code::unsupported, "a window of more than {} elements over {} values", kMostTaps,
                  name(x->dtype()));
  }
  QC_ASSIGN(x, padded(m, x, w));
  Value* sum = nullptr;
  for (int64_t tap = 0; tap < taps; ++tap) {
    int64_t rest = tap;
    for (size_t i = axes; i-- > 0; rest /= w.kernel[i]) {
      ranges[2 + i].start = Dim(rest % w.kernel[i] * w.dilations[i]);
    }
    QC_ASSIGN(Value * part, take(m, x, ranges));
    QC_ASSIGN(part, term(part, tap));
    if (sum) {
      QC_ASSIGN(part, m.emit("add", {sum, part}));
    }
    sum = part;
  }
  return sum;
}

}  // namespace qc
