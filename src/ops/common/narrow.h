// f16 and bf16 in import rows: what is one operation to PyTorch is computed in f32 and rounded
// once, also where it becomes several nodes here.
#pragma once

#include <optional>

#include "frontends/common/foreign.h"

namespace qc {

inline bool is_narrow(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

/// What an operation of the type computes in: f32 for f16 and bf16, else the type itself.
inline DType computed_in(DType dtype) { return is_narrow(dtype) ? DType::f32 : dtype; }

/// f16 or bf16 where the tensors of the operation promote to that type.
std::optional<DType> narrow_type(const Import& m);

/// The row's results for operands widened to f32, rounded to `narrow`.
Result<Values> run_in_f32(const Import& m, DType narrow, ImportFn row);

/// Whether argument `name` is a number, or a rank-0 tensor of a wider type, that `narrow` cannot
/// hold or is not known to; with `any`, whether it is one at all.
Result<bool> is_wide_number(const Import& m, std::string_view name, DType narrow, bool any);

/// A row of several steps.
template <ImportFn kSteps>
Result<Values> in_f32(Import& m) {
  const auto narrow = narrow_type(m);
  return narrow ? run_in_f32(m, *narrow, kSteps) : kSteps(m);
}

/// A row whose number `other` PyTorch keeps in f32 beside an f16 or bf16 tensor: products and
/// quotients. Other operations round the number to the type of the tensor first. With kSeveral the
/// row has several steps for such a number.
template <ImportFn kRow, bool kSeveral = false>
Result<Values> number_in_f32(Import& m) {
  const auto narrow = narrow_type(m);
  if (!narrow) return kRow(m);
  QC_ASSIGN(const bool wide, is_wide_number(m, "other", *narrow, kSeveral));
  return wide ? run_in_f32(m, *narrow, kRow) : kRow(m);
}

}  // namespace qc
