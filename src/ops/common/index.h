// What gather and scatter ops share: checks of index operands.
#pragma once

#include "ir/relations.h"
#include "ops/common/strided.h"

namespace qc {

/// An error unless `index` is i32 or i64.
inline Result<Ok> check_index(const Type& index, const Loc& loc) {
  if (index.dtype == DType::i64 || index.dtype == DType::i32) return Ok{};
  return error(Code::type, loc, "indices are {}, expected i64 or i32", name(index.dtype));
}

/// An error when elements are picked from an axis that has none.
inline Result<Ok> check_pick(const Dim& extent, const Dims& picks, const Loc& loc) {
  if (!(product(picks) == Dim(0)) && exceeds(1, extent)) {
    return error(Code::shape, loc, "an index of shape {} into an axis without elements",
                 str(picks));
  }
  return Ok{};
}

/// Product of dims [from, to).
inline int64_t extent(const Ints& dims, size_t from, size_t to) {
  return count(Ints(dims.begin() + static_cast<std::ptrdiff_t>(from),
                    dims.begin() + static_cast<std::ptrdiff_t>(to)));
}
inline Dim extent(const Dims& dims, size_t from, size_t to) {
  return product(Dims(dims.begin() + static_cast<std::ptrdiff_t>(from),
                      dims.begin() + static_cast<std::ptrdiff_t>(to)));
}

/// Fills the last entries of a kernel's fixed list of 8, the first ones with `rest`.
inline Result<Ok> fill_params(Dim (&out)[8], const Dims& list, int64_t rest, const Loc& loc) {
  if (list.size() > 8)
    return error(Code::unsupported, loc, "{} axes, at most 8 are possible", list.size());
  for (size_t i = 0; i < 8; ++i) {
    out[i] = i + list.size() >= 8 ? list[i + list.size() - 8] : Dim(rest);
  }
  return Ok{};
}

}  // namespace qc
