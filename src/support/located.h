// Places for diagnostics of functions that do not know where in the model they work.
#pragma once

#include "support/result.h"

namespace qc {

/// The result; a diagnostic without a place gets `loc`, one without a file that of `loc`.
template <class T>
Result<T> located(Result<T> result, const Loc& loc) {
  if (result.ok()) return result;
  Loc& where = result.diag().loc;
  if (where.file.empty()) where.file = loc.file;
  if (where.names.empty() && where.op.empty()) where = Loc{where.file, loc.names, loc.op};
  return result;
}

}  // namespace qc
