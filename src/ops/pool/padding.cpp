#include "ops/common/window_padding.h"
#include "ops/pool/pool.h"

namespace qc {

Result<Ok> PoolWindow::pad_window(PaddedNode& c) {
  const auto leave_out = [&](int64_t axis) -> Result<Ok> {
    const Dims& x = c.operands()[0]->shape();
    if (valid.empty()) valid.assign(x.begin() + 2, x.end());
    valid[static_cast<size_t>(axis - 2)] = c.parts(0, axis)[0].size;
    return Ok{};
  };
  return pad_windows(c, pads, ceil || !output_size.empty(), leave_out);
}

/// Places of maxima may count from the start of the tensor.
Result<Ok> Pool::pad(PaddedNode& c) { return index.empty() ? pad_window(c) : c.rows(1); }

Result<Ok> QAveragePool::pad(PaddedNode& c) { return pad_window(c); }

}  // namespace qc
