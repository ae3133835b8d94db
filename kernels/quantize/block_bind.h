// Calls for blocks of threads on an accelerator: what variants of several kernels share.
#pragma once

#include "kernels/common/thread_block.h"
#include "kernels/epilogue/epilogue.h"
#include "kernels/quantize/calls.h"
#include "program/variant.h"

namespace qc {

/// The shortest rows for which threads together are worth their waiting, and the longest they take.
constexpr int64_t kShortestBlockRow = 16;
constexpr int64_t kLongestBlockRow = 131072;

/// Why a block of threads does not take rows of n elements, of which a thread could take one each.
inline std::string block_refusal(const Binder& binder, const Dim& n) {
  if (binder.largest(n) > kLongestBlockRow) return "rows are too long";
  return n.is_static() && n.value() < kShortestBlockRow ? "rows are short" : "";
}

/// The same of a kernel with an epilogue: scales are known, one for each row, or one for all. Rows
/// may be short, for without a block one thread would compute all of them.
inline std::string epilogue_refusal(const Call& call, const Binder& binder, const Dim& rows,
                                    const Dim& n) {
  const int64_t mode = call.integer("quantize.mode");
  if (mode == QK_PER_TOKEN && !(call.size("quantize.span") == n)) return "a row has several scales";
  if (mode == QK_PER_TENSOR && !(rows.is_static() && n.is_static())) return "sizes are free";
  return binder.largest(n) > kLongestBlockRow ? "rows are too long" : "";
}

/// Codes of the floats x, whose range is known in `parts` parts.
inline Call quantize_ranges(const Call& call, const Dim& n, const Dim& range_count, int64_t size,
                            const View& x, const View& ranges, const View& y, const View& scales,
                            const View& zeros, const Dim& lo, const Dim& hi, const Dim& symmetric) {
  Call out = Binder::like(call, "ranges_quantize_block", {"block"});
  set_integer(out, "n", n);
  set_integer(out, "range_count", range_count);
  set_integer(out, "size", size);
  set_integer(out, "lo", lo);
  set_integer(out, "hi", hi);
  set_integer(out, "symmetric", symmetric);
  set_view(out, "x", x);
  set_view(out, "ranges", ranges);
  set_view(out, "y", y);
  set_view(out, "scales", scales);
  set_view(out, "zeros", zeros);
  out.in_place.clear();
  return out;
}

/// A call of a kernel with an epilogue for blocks of threads. With one scale for all elements it
/// leaves them as floats, and the bound call makes codes of them.
inline Call bind_epilogue(const Call& call, Binder& binder, Call out, const Dim& rows,
                          const Dim& n) {
  if (call.integer("quantize.mode") != QK_PER_TENSOR) return out;
  if (call.integer("quantize.keep") == 0)
    set_view(out, "floats", binder.scratch(DType::f32, {rows * n}, "floats"));
  const View floats = out.operand("floats");
  const auto result = [&](const char* name) {
    const View view = out.out[static_cast<size_t>(out.kernel->result(name))];
    set_view(out, name, {});
    return view;
  };
  const auto range_count =
      qk_block_row_units(static_cast<int32_t>(rows.value()), static_cast<int32_t>(n.value()));
  const View y = result("y"), scales = result("y_scales"), zeros = result("y_zeros");
  const View ranges = binder.scratch(DType::f32, {range_count, 2}, "ranges");
  set_view(out, "ranges", ranges);
  out.in_place.clear();
  binder.before(std::move(out));
  return quantize_ranges(call, rows * n, range_count, call.integer("quantize.size"), floats, ranges,
                         y, scales, zeros, call.size("quantize.lo"), call.size("quantize.hi"),
                         call.size("quantize.symmetric"));
}

}  // namespace qc
