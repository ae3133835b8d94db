#include <functional>

#include "ops/attention/attention.h"
#include "ops/attention/qattention.h"

namespace qc {
namespace {

/// The window as a mask [queries, keys] in which queries that are padding see what the last one
/// before them sees.
Result<Value*> window_of_copies(PaddedNode& c, const AttentionScores& window) {
  const std::optional<Dim> queries = elements_before(c.parts(kQ, 2));
  if (!queries || !(window.offset == Dim(0))) return c.refuse("each query has a window of its own");
  Graph& graph = c.graph();
  const auto positions = [&](size_t operand) {
    return graph.emit("iota", {}, {{"size", c.dim().resized(c.shape(operand)[2])}}, c.loc());
  };
  QC_ASSIGN(Value * keys, positions(kK));
  QC_ASSIGN(Value * query, positions(kQ));
  const Dim all = query->shape()[0];
  QC_ASSIGN(query, fitted(graph, query, 0, all, *queries, {.repeat = true}, c.loc()));
  QC_ASSIGN(query, reshaped(graph, query, {all, Dim(1)}, c.loc()));
  Value* visible = nullptr;
  const auto limit = [&](const char* compare, int64_t distance) -> Result<Ok> {
    const int64_t number[] = {distance};
    Value* by = graph.constant(Tensor::of<int64_t>(DType::i64, {}, number));
    QC_ASSIGN(Value * end, graph.emit("add", {query, by}, {}, c.loc()));
    QC_ASSIGN(Value * side, graph.emit(compare, {keys, end}, {}, c.loc()));
    if (visible) {
      QC_ASSIGN(side, graph.emit("logical_and", {visible, side}, {}, c.loc()));
    }
    visible = side;
    return Ok{};
  };
  if (window.left >= 0) QC_TRY(limit("ge", -window.left));
  if (window.right >= 0) QC_TRY(limit("le", window.right));
  return visible;
}

/// Hides keys that are padding, by the window of a causal attention or by a mask; their weight is
/// then 0. `fill_keys` makes their scores finite, which a mask that is added needs. With
/// `repeated`, queries that are padding are copies of the last one, and see what it sees: a window
/// that moves on with them becomes a mask.
Result<Ok> hide_padding(PaddedNode& c, AttentionScores& window, bool repeated,
                        const std::function<Result<Ok>()>& fill_keys) {
  for (size_t i : {kQ, kK, kV}) {
    if (c.is_padded(i, 1) || c.is_padded(i, 3)) return c.refuse("it mixes elements along it");
    if (c.parts(i, 0) != c.parts(kQ, 0)) return c.refuse("its operands are padded differently");
  }
  const AxisSegments& keys = c.parts(kK, 2);
  if (keys != c.parts(kV, 2)) return c.refuse("its operands are padded differently");
  if (window.joined) {
    c.set_result({c.parts(kQ, 0), c.parts(kQ, 2), {}});
  } else {
    c.set_result(c.padding(kQ));
  }
  const bool square = window.offset == Dim(0) && c.shape(kQ)[2] == c.shape(kK)[2];
  const bool masked = c.operands().size() > kMask && c.operands()[kMask];
  Value* seen = nullptr;
  if (repeated && c.is_padded(kQ, 2) &&
      (window.left >= 0 || (window.right >= 0 && !(window.right == 0 && square)))) {
    if (masked) return c.refuse("each query has a window of its own");
    QC_ASSIGN(seen, window_of_copies(c, window));
    window.left = window.right = -1;
    c.set_operand(kMask, seen);
  }
  if (keys.empty()) return Ok{};
  const bool causal = window.right == 0 && square && !repeated;
  const int64_t last = masked ? std::ssize(c.shape(kMask)) - 1 : 0;
  if (masked && c.is_padded(kMask, last)) {
    const bool keep = c.operands()[kMask]->dtype() == DType::boolean;
    QC_TRY(c.fill(kMask, last, keep ? Fill::zero : Fill::lowest));
    if (!keep) QC_TRY(fill_keys());
  } else if (masked && !causal) {
    return c.refuse("its mask is one for all keys");
  } else if (!masked && !causal) {
    QC_ASSIGN(Value * meant, c.meant(keys));
    if (seen) {
      QC_ASSIGN(meant, c.graph().emit("logical_and", {seen, meant}, {}, c.loc()));
    }
    c.set_operand(kMask, meant);
  }
  return Ok{};
}

}  // namespace

/// Minus zero among the values adds nothing.
Result<Ok> Attention::pad(PaddedNode& c) {
  QC_TRY(hide_padding(c, *this, false, [&] { return c.fill(kK, 2, Fill::zero); }));
  return c.is_padded(kV, 2) ? c.fill(kV, 2, Fill::minus_zero) : Ok{};
}

namespace {

/// Codes are finite whatever they are, but scales may be anything.
Result<Ok> hide_codes(PaddedNode& c, CodeAttention& window, bool repeated) {
  const bool keys = has_row_scales(c.operands()[kK]->type());
  const bool values = has_row_scales(c.operands()[kV]->type());
  QC_TRY(hide_padding(c, window, repeated, [&]() -> Result<Ok> {
    if (!keys) return Ok{};
    return c.fill(CodeAttention::scale_operand(kK), 2, Fill::one);
  }));
  if (values && c.is_padded(kV, 2)) {
    QC_TRY(c.fill(CodeAttention::scale_operand(kV), 2, Fill::one));
  }
  return Ok{};
}

}  // namespace

Result<Ok> QAttention::pad(PaddedNode& c) { return hide_codes(c, *this, false); }

/// Scales and zero points of rows are padded as the rows are. One scale for all is that of the rows
/// that are meant, since the others are the last of them again.
Result<Ok> QAttentionQuantize::pad(PaddedNode& c) {
  if (epilogue.dynamic && !epilogue.per_token) {
    const std::vector<Padding> none = c.results();
    QC_TRY(c.repeat_edges());
    QC_TRY(hide_codes(c, *this, true));
    for (size_t i = 1; i < none.size(); ++i) c.set_result(i, none[i]);
    return Ok{};
  }
  QC_TRY(hide_codes(c, *this, false));
  Padding rows = joined ? Padding{c.parts(kQ, 0), c.parts(kQ, 2), {}} : c.padding(kQ);
  rows.back() = {};
  for (size_t i = 1; i < output_count(); ++i) c.set_result(i, rows);
  return Ok{};
}

}  // namespace qc
