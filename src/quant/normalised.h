// Rows that are normalised: what calibration asks ops for, to find values whose small rows count as
// much as the large ones. One scale for all of them leaves few codes for a small row, and a norm
// makes its error as large as the others are.
#pragma once

#include <cstdint>
#include <optional>

namespace qc {

/// An op that divides rows of operand 0 by their size: a norm.
class NormalisesRows {
 public:
  virtual ~NormalisesRows() = default;
  /// Rows are all elements from this axis on; nothing where they do not lie so.
  virtual std::optional<int64_t> normalised_axis() const = 0;
};

}  // namespace qc
