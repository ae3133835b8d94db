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

/// Whether a sum of floats, whose bits depend on the places of elements in a row.
bool has_order(ReduceKind kind, DType type) {
  return is_float(type) && kind != ReduceKind::max && kind != ReduceKind::min;
}

/// What is reduced of operand 0, and how much of it is padding.
struct PaddedRows {
  std::vector<int64_t> padded;    // reduced axes with padding
  int64_t first = -1, last = -1;  // reduced axes that are not of size one
  bool together = true;           // no other axes are between them
  Padding result;

  PaddedRows(const PaddedNode& c, const std::vector<bool>& gone, bool keepdims) {
    for (int64_t i = 0; i < std::ssize(gone); ++i) {
      const bool reduced = gone[static_cast<size_t>(i)];
      if (!reduced) result.push_back(c.parts(0, i));
      if (reduced && keepdims) result.emplace_back();
      if (!reduced || c.shape(0)[static_cast<size_t>(i)] == Dim(1)) continue;
      if (c.is_padded(0, i)) padded.push_back(i);
      if (first < 0) first = i;
      last = i;
    }
    for (int64_t i = first; i >= 0 && i < last; ++i)
      together = together && gone[static_cast<size_t>(i)];
  }
};

/// Brings elements of a row to the places they have without padding, what `with` is after them: all
/// reduced axes become the first of them.
Result<Ok> move_together(PaddedNode& c, const PaddedRows& rows, Fill with) {
  if (!rows.together) return c.refuse("padding lies between elements that are summed up");
  Value* x = c.operands()[0];
  const Dims before = x->shape();
  for (int64_t axis : rows.padded) {
    if (c.parts(0, axis).size() != 1)
      return c.refuse("padding lies between elements that are summed up");
    const Dim& own = c.parts(0, axis)[0].size;
    QC_ASSIGN(x, fitted(c.graph(), x, axis, own, own, {}, c.loc()));
  }
  Dims shape = x->shape();
  Dim all(1), meant(1);
  for (int64_t i = rows.first; i <= rows.last; ++i) {
    all = all * before[static_cast<size_t>(i)];
    meant = meant * shape[static_cast<size_t>(i)];
    shape[static_cast<size_t>(i)] = Dim(1);
  }
  shape[static_cast<size_t>(rows.first)] = meant;
  QC_ASSIGN(x, reshaped(c.graph(), x, shape, c.loc()));
  Tensor value(x->dtype(), {});
  value.set_double(0, with == Fill::lowest ? -kInf
                      : with == Fill::one  ? 1.0
                      : with == Fill::zero ? 0.0
                                           : -0.0);
  Value* filling = c.graph().constant(std::move(value), "filling");
  QC_ASSIGN(x, fitted(c.graph(), x, rows.first, all, meant, {filling, false}, c.loc()));
  c.set_operand(0, x);
  return Ok{};
}

Result<Ok> fill_rows(PaddedNode& c, const PaddedRows& rows, Fill with, bool order) {
  const bool at_the_end =
      rows.padded.empty() || (rows.padded.size() == 1 && rows.padded[0] == rows.first);
  if (order && !at_the_end) return move_together(c, rows, with);
  for (int64_t axis : rows.padded) QC_TRY(c.fill(0, axis, with));
  return Ok{};
}

/// The number of elements of a row without padding.
Dim elements_of(const PaddedNode& c, const std::vector<bool>& gone) {
  Dim n(1);
  for (size_t i = 0; i < gone.size(); ++i) {
    if (gone[i]) n = n * c.shape(0)[i];
  }
  return n;
}

}  // namespace

/// A mean is the sum over the number of elements that the run has.
Result<Ok> Reduce::pad(PaddedNode& c) {
  QC_ASSIGN(const std::vector<bool> gone, reduced(std::ssize(c.shape(0)), loc()));
  PaddedRows rows(c, gone, keepdims);
  c.set_result(rows.result);
  if (rows.padded.empty()) return Ok{};
  const DType type = c.operands()[0]->dtype();
  const bool mean = op_->kind == ReduceKind::mean;
  const std::optional<Fill> with = mean ? Fill::minus_zero : neutral(op_->kind);
  if (!with || (mean && type != DType::f32 && type != DType::f64))
    return c.refuse("it counts the elements");
  QC_TRY(fill_rows(c, rows, *with, has_order(op_->kind, type)));
  if (!mean) return Ok{};
  Graph& graph = c.graph();
  QC_ASSIGN(Value * sum, graph.emit("reduce_sum", {c.operands()[0]},
                                    {{"axes", axes}, {"keepdims", keepdims}}, c.loc()));
  QC_ASSIGN(
      Value * n,
      graph.emit("dims", {}, {{"values", Dims{elements_of(c, gone)}}, {"scalar", true}}, c.loc()));
  QC_ASSIGN(n, graph.emit("cast", {n}, {{"to", type}}, c.loc()));
  QC_ASSIGN(Value * result, graph.emit("div", {sum, n}, {}, c.loc()));
  c.replace(result);
  return Ok{};
}

/// Integer sums have no order.
Result<Ok> QReduce::pad(PaddedNode& c) {
  QC_ASSIGN(const std::vector<bool> gone, reduced(std::ssize(c.shape(0)), loc()));
  PaddedRows rows(c, gone, keepdims);
  c.set_result(rows.result);
  if (mean_ && !rows.padded.empty() && count == Dim(0)) count = elements_of(c, gone);
  return fill_rows(c, rows, Fill::zero, false);
}

}  // namespace qc
