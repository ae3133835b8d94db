// Scores: what calibration asks ops for, to find values that only mask. A score far below the
// greatest of its row has probability 0 whatever it is, so how far below says nothing about the
// range that codes must cover.
#pragma once

#include <cstdint>
#include <optional>

namespace qc {

/// An op that tells elements of operand 0 apart only near the greatest of their row: a softmax.
class ReadsNearGreatest {
 public:
  virtual ~ReadsNearGreatest() = default;
  /// The axis of the rows; nothing where the node reads all elements after all.
  virtual std::optional<int64_t> row_axis() const = 0;
};

/// An op that may be the sum of its two operands.
class MaySum {
 public:
  virtual ~MaySum() = default;
  virtual bool is_sum() const = 0;
  /// Whether it is one and nothing else: its result is not limited.
  virtual bool is_plain_sum() const = 0;
};

}  // namespace qc
