// Calls of attention for blocks of threads: what variants share.
#pragma once

#include "kernels/activation/calls.h"
#include "kernels/common/codes.h"
#include "kernels/qattention/calls.h"
#include "kernels/quantize/block_bind.h"

namespace qc {

/// Why blocks of threads do not take a call, that of `most` keys at most.
inline std::string attention_refusal(const Call& call, const Binder& binder, int64_t most) {
  if (binder.largest(call.size("keys")) > most) return "there are too many keys";
  if (call.integer("quantize.mode") == QK_NO_EPILOGUE) return "";
  return epilogue_refusal(call, binder, call.size("batch") * call.size("quantize.batch"),
                          call.size("quantize_row"));
}

/// A call of a machine's body. With an epilogue: floats first, of all batches, then their codes.
inline Result<Call> bind_attention(const Call& call, Binder& binder, const char* machine) {
  Call attention = Binder::like(call, "qattention_block", {machine});
  if (call.integer("quantize.mode") == QK_NO_EPILOGUE) return attention;
  const Dim rows = call.size("batch") * call.size("quantize.batch"), n = call.size("quantize_row");
  const View floats = binder.scratch(DType::f32, {rows, n}, "floats");
  attention.params[attention.kernel->field("y_at")->at] = call.size("quantize.batch") * n;
  set_integer(attention, "quantize.mode", QK_NO_EPILOGUE);
  set_integer(attention, "y_type", QK_F32);
  set_view(attention, "y", floats);
  attention.in_place.clear();
  binder.before(std::move(attention));
  Call codes = Binder::like(call, "activation_quantize_block", {"block", "same"});
  set_integer(codes, "rows", rows);
  set_integer(codes, "n", n);
  set_integer(codes, "x_stride", n);
  set_view(codes, "x", floats);
  codes.in_place.clear();
  return bind_epilogue(call, binder, std::move(codes), rows, n);
}

}  // namespace qc
