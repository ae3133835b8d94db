#include "program/rows_apart.h"

namespace qc {

std::optional<Dim> rows_apart(const Value* value) {
  const auto* part = dynamic_cast<const PartOfRows*>(value->def());
  if (!part || !part->is_part_of_rows() || value->pinned() > 0) return std::nullopt;
  const Type& whole = value->def()->input_type(0);
  if (whole.layout != Layout::row_major || value->type().layout != Layout::row_major ||
      value->def()->input(0)->is_constant()) {
    return std::nullopt;
  }
  for (const Use* use = value->first_use(); use; use = use->next) {
    const auto* reader = dynamic_cast<const TakesRowsApart*>(use->user);
    if (!reader || !reader->takes_rows_apart(use->index)) return std::nullopt;
  }
  return whole.shape.back();
}

}  // namespace qc
