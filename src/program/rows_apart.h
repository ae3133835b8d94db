// Values whose rows lie apart: a part of the last axis of another value need not be copied for
// readers whose kernels take the distance of rows.
#pragma once

#include <optional>

#include "ir/graph.h"

namespace qc {

/// An op whose kernels take operands with any distance between rows of the last axis.
class TakesRowsApart {
 public:
  virtual ~TakesRowsApart() = default;
  virtual bool takes_rows_apart(size_t operand) const = 0;
};

/// An op whose result may be a part of the last axis of its operand, which else stays whole.
class PartOfRows {
 public:
  virtual ~PartOfRows() = default;
  virtual bool is_part_of_rows() const = 0;
};

/// The distance of rows, in elements, of a value that is no more than a part of the rows of
/// another: where all its readers take it. Nullopt: the rows of the value follow each other.
std::optional<Dim> rows_apart(const Value* value);

}  // namespace qc
