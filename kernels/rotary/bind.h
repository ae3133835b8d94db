// Rows of rotations: what variants share.
#pragma once

#include "program/variant.h"

namespace qc {

inline Dim rows_of(const Call& call) {
  Dim rows = 1;
  for (int d = 0; d + 1 < call.integer("rank"); ++d) rows = rows * call.size("dims", d);
  return rows;
}
inline Dim length_of(const Call& call) {
  return call.size("dims", static_cast<int>(call.integer("rank")) - 1);
}

}  // namespace qc
