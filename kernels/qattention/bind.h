// Calls of attention on codes for one thread: what variants share.
#pragma once

#include "kernels/qattention/calls.h"
#include "kernels/quantize/epilogue_bind.h"

namespace qc {

/// A call of a kernel that computes some queries at a time, with its scratch.
inline Result<Call> bind_queries(const Call& call, Binder& binder, const char* kernel,
                                 std::vector<std::string> select = {}) {
  constexpr int64_t kQueries = 16;  // that are computed together
  Call c = Binder::like(call, kernel, std::move(select));
  const auto up = [](const Dim& n, int64_t to) { return ceildiv(n, to) * Dim(to); };
  const Dim queries = call.size("queries"), keys = call.size("keys");
  const Dim rows =
      binder.bounds(queries).min >= kQueries ? Dim(kQueries) : min(queries, Dim(kQueries));
  set_integer(c, "rows", rows);
  if (call.integer("quantize.mode") != QK_NO_EPILOGUE)
    set_view(c, "floats",
             floats_of_epilogue(call, binder, call.size("batch") * call.size("quantize.batch"),
                                call.size("quantize_row"), call.size("quantize.batch")));
  // As QK_QATTENTION_FLOATS and QK_QATTENTION_WORDS count them.
  const Dim line = up(keys, 16), width = up(call.size("value_depth"), 16);
  const Dim depth = up(call.size("depth"), 2);
  QC_ASSIGN(Dim floats, binder.param(rows * (line + width) + Dim(2) * line + up(rows, 16)));
  QC_ASSIGN(Dim words, binder.param(line * depth + width * up(keys, 2) + rows * (depth + line)));
  set_view(c, "scores", binder.scratch(DType::f32, {std::move(floats)}, "scores"));
  set_view(c, "panels", binder.scratch(DType::i16, {std::move(words)}, "panels"));
  return c;
}

}  // namespace qc
