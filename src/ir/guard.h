// DimGuard: a relation of sizes that a model was traced under; for other sizes it does not hold.
#pragma once

#include "ir/dim.h"

namespace qc {

struct DimGuard {
  enum class Op : uint8_t { eq, ne, le, ge, lt, gt };
  Dim left;
  Op op = Op::eq;
  Dim right;

  /// "==", "<=" and the like.
  std::string_view relation() const;
  /// Whether the relation holds, where both sides are numbers.
  std::optional<bool> holds() const;
  DimGuard substitute(const Bindings& bindings) const;

  /// "s0 == 2*s1"; `parse` reads it back.
  std::string str() const;
  static Result<DimGuard> parse(std::string_view text);
};

}  // namespace qc
