#include <optional>

#include "ops/reduce/reduce.h"

namespace qc {
namespace {

/// The element that leaves a result as it is; none where their number counts.
std::optional<Fill> neutral(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::sum:
    case ReduceKind::log_sum:
      return Fill::minus_zero;
    case ReduceKind::l1:
    case ReduceKind::l2:
    case ReduceKind::sum_square:
    case ReduceKind::any:
      return Fill::zero;
    case ReduceKind::prod:
    case ReduceKind::all:
      return Fill::one;
    case ReduceKind::max:
    case ReduceKind::log_sum_exp:
      return Fill::lowest;
    case ReduceKind::min:
      return Fill::highest;
    default:
      return std::nullopt;
  }
}

/// Elements of a row keep their places where the padded axis is the outermost of it.
Result<Ok> pad_reduction(PaddedNode& c, const std::vector<bool>& gone, bool keepdims,
                         std::optional<Fill> with) {
  Padding to;
  bool first = true;
  for (size_t i = 0; i < gone.size(); ++i) {
    const int64_t axis = static_cast<int64_t>(i);
    if (!gone[i]) to.push_back(c.parts(0, axis));
    if (gone[i] && keepdims) to.emplace_back();
    if (!gone[i]) continue;
    if (c.is_padded(0, axis)) {
      if (!with) return c.refuse("it counts the elements");
      if (!first) return c.refuse("padding lies between elements that are summed up");
      QC_TRY(c.fill(0, axis, *with));
    }
    first = first && c.shape(0)[i] == Dim(1);
  }
  c.set_result(std::move(to));
  return Ok{};
}

}  // namespace

Result<Ok> Reduce::pad(PaddedNode& c) {
  QC_ASSIGN(const std::vector<bool> gone, reduced(std::ssize(c.shape(0)), loc()));
  return pad_reduction(c, gone, keepdims, neutral(op_->kind));
}

Result<Ok> QReduce::pad(PaddedNode& c) {
  QC_ASSIGN(const std::vector<bool> gone, reduced(std::ssize(c.shape(0)), loc()));
  return pad_reduction(c, gone, keepdims, mean_ ? std::nullopt : std::optional(Fill::zero));
}

}  // namespace qc
