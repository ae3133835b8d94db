// Products of codes on tensor cores: weights packed for kernels/qconv/mma.cu.
#pragma once

#include <fmt/format.h>

#include <cstring>

#include "kernels/qconv/calls.h"
#include "kernels/qconv/mma.h"
#include "program/variant.h"

namespace qc {

/// Where a weight is: output n, tap and input channel c at n*n_stride + tap*tap_stride +
/// c*c_stride.
struct MmaWeights {
  int64_t outputs, taps, inputs;
  int64_t n_stride, tap_stride, c_stride;
  bool flip;  // codes u8 that stand for their value less 128
};

/// Why tensor cores do not take a call of these sizes and operands; empty where they do.
inline std::string mma_refusal(const Call& call, const Binder& binder, const Dim& x_type) {
  if (!(x_type == Dim(QK_I8) || x_type == Dim(QK_U8))) return "codes of x have more than 8 bits";
  if (call.operand("w_zeros").present()) return "weights have zero points";
  return binder.not_constant(call, {"w"});
}

/// Gives a call of qconv_blocks its tile and its weights.
inline void pack_mma(Call& to, const Call& from, Binder& binder, const MmaWeights& w,
                     int64_t rows) {
  const int64_t large = (rows + 127) / 128 * ((w.outputs + 127) / 128);
  const int64_t tile = w.outputs <= 64 || large < 132 ? 64 : 128;  // a large GPU runs 132 at once
  set_integer(to, "tile", tile);
  const int64_t terms = w.taps * w.inputs, depth = (terms + 63) / 64 * 64;
  const int64_t padded = (w.outputs + tile - 1) / tile * tile;
  const auto code = [w](const Tensor& t, int64_t n, int64_t tap, int64_t c) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(t.bytes().data());
    const uint8_t own = bytes[n * w.n_stride + tap * w.tap_stride + c * w.c_stride];
    return static_cast<int8_t>(own ^ (w.flip ? 0x80 : 0));
  };
  const std::string name = fmt::format("mma.{}.{}.{}.{}.{}.{}.{}.{}", tile, w.outputs, w.taps,
                                       w.inputs, w.n_stride, w.tap_stride, w.c_stride, w.flip);
  const int64_t bytes = padded * depth + 4 * w.outputs;
  set_view(to, "w",
           binder.packed(from.operand("w"), {}, name, DType::i8, {bytes},
                         [=](const std::vector<Tensor>& t) -> Result<Tensor> {
                           Tensor out(DType::i8, {bytes});
                           auto* to = out.mutable_data<int8_t>();
                           for (int64_t n = 0; n < w.outputs; ++n) {
                             int32_t sum = 0;
                             for (int64_t k = 0; k < terms; ++k) {
                               to[n * depth + k] = code(t[0], n, k / w.inputs, k % w.inputs);
                               sum += to[n * depth + k];
                             }
                             std::memcpy(to + padded * depth + 4 * n, &sum, 4);
                           }
                           return out;
                         }));
}

}  // namespace qc
