// Calls of kernels with an epilogue for one thread (kernels/common/quantize_epilogue.h): what
// portable variants share.
#pragma once

#include <algorithm>

#include "kernels/epilogue/epilogue.h"
#include "program/variant.h"

namespace qc {

/// How many of `rows` rows of n floats are computed before their codes are: as many as stay near.
inline int64_t rows_near(const Binder& binder, const Dim& rows, const Dim& n) {
  constexpr int64_t kNear = 4096;  // floats, half of a small first cache
  const int64_t most = std::clamp<int64_t>(binder.largest(rows), 1, 32);
  return std::clamp<int64_t>(kNear / std::max<int64_t>(binder.largest(n), 1), 1, most);
}

/// Room for the floats of `rows` rows of n, of which so many are computed together: for all of them
/// where one range for the tensor is known once all are there.
inline View floats_of_epilogue(const Call& call, Binder& binder, const Dim& rows, const Dim& n,
                               const Dim& together) {
  const bool all = call.integer("quantize.mode") == QK_PER_TENSOR;
  return binder.scratch(DType::f32, {all ? rows * n : n * together}, "floats");
}

/// A call of a kernel's body for `rows` rows of n floats. Floats that are kept have room already.
inline Call bind_rows(const Call& call, Binder& binder, const char* kernel, const Dim& rows,
                      const Dim& n) {
  Call c = Binder::like(call, kernel, call.select);
  const int64_t together = rows_near(binder, rows, n);
  set_integer(c, "quantize.batch", together);
  if (call.integer("quantize.keep") == 0)
    set_view(c, "floats", floats_of_epilogue(call, binder, rows, n, together));
  return c;
}

inline std::string no_refusal(const Call&, const Binder&) { return {}; }

}  // namespace qc
