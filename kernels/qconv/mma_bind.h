// Products of codes on GPUs: weights packed for kernels/qconv/mma.cu and dp4a.cu.
#pragma once

#include <fmt/format.h>

#include <algorithm>
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

/// Why these kernels do not take a call with such operands; empty where they do.
inline std::string mma_refusal(const Call& call, const Binder& binder, const Dim& x_type) {
  if (!(x_type == Dim(QK_I8) || x_type == Dim(QK_U8))) return "codes of x have more than 8 bits";
  if (call.operand("w_zeros").present()) return "weights have zero points";
  return binder.not_constant(call, {"w"});
}

/// The shape of tiles for so many rows, outputs and terms: the one with the least estimate of
/// clock cycles on a GPU with 132 multiprocessors. Tiles take their turns on these; a tile costs a
/// fixed time and, for each chunk, what its products take, or its copies from the second-level
/// cache. A tile alone waits for every chunk. The figures were fitted to times on an H200. With
/// `lines` terms are put together byte by byte, for which large chunks are better.
inline int64_t mma_shape(int64_t rows, int64_t outputs, int64_t terms, bool lines) {
  struct Cost {
    int64_t tile, alone,
        products;  // clocks of a tile, of a chunk of a tile alone; products a clock
  };
  constexpr Cost kCosts[QK_MMA_SHAPES] = {{11000, 1400, 1530}, {5000, 1000, 1150},
                                          {1700, 700, 1040},   {1800, 750, 990},
                                          {1640, 490, 600},    {1900, 580, 400}};
  constexpr int64_t kProcessors = 132, kBytes = 64;
  int64_t best = 0, least = 0;
  for (int32_t i = lines ? 3 : 0; i < QK_MMA_SHAPES; ++i) {
    const qk_mma_shape s = qk_mma_shape_of(i);
    const Cost& cost = kCosts[i];
    const int64_t tiles = ((rows + s.rows - 1) / s.rows) * ((outputs + s.columns - 1) / s.columns);
    const int64_t chunks = (terms + s.chunk - 1) / s.chunk;
    const int64_t products = int64_t{s.rows} * s.columns * s.chunk / cost.products;
    const int64_t copies = int64_t{s.rows + s.columns} * s.chunk / kBytes;
    const int64_t turns = (tiles + kProcessors - 1) / kProcessors;
    const int64_t cycles = std::max(turns * (cost.tile + chunks * std::max(products, copies)),
                                    cost.tile + chunks * cost.alone);
    if (least == 0 || cycles < least) {
      best = i;
      least = cycles;
    }
  }
  return best;
}

/// Makes a call of qconv_blocks one of so many images of one position and one tap.
inline void as_product(Call& to, const Dim& rows) {
  for (const char* one : {"in", "out", "k", "stride", "dilation"}) {
    for (size_t axis = 0; axis < 3; ++axis) to.params[to.kernel->field(one)->at + axis] = Dim(1);
  }
  set_integer(to, "n", rows);
}

/// Gives a call its shape, of tiles or of a thread, and its weights.
inline void pack_mma(Call& to, const Call& from, Binder& binder, const MmaWeights& w, bool tiles) {
  auto p = c_params<qk_qconv_mma_params>(to);
  const int64_t rows = int64_t{p.n} * p.out[0] * p.out[1] * p.out[2];
  const bool lines = p.ic % 16 != 0 && p.k[2] > 1 && p.dilation[2] == 1;
  set_integer(to, "lines", lines);
  set_integer(
      to, "shape",
      tiles ? mma_shape(rows, w.outputs, w.taps * w.inputs, lines) : int64_t{QK_MMA_SHAPES});
  p = c_params<qk_qconv_mma_params>(to);
  const int64_t depth = qk_mma_depth(&p), run = qk_mma_run(&p), padded = qk_mma_outputs(&p);
  const int64_t taps_of_run = p.lines ? p.k[2] : 1, terms = taps_of_run * w.inputs;
  const auto code = [w](const Tensor& t, int64_t n, int64_t tap, int64_t c) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(t.bytes().data());
    const uint8_t own = bytes[n * w.n_stride + tap * w.tap_stride + c * w.c_stride];
    return static_cast<int8_t>(own ^ (w.flip ? 0x80 : 0));
  };
  const std::string name =
      fmt::format("mma.{}.{}.{}.{}.{}.{}.{}.{}.{}", p.shape, p.lines, w.outputs, w.taps, w.inputs,
                  w.n_stride, w.tap_stride, w.c_stride, w.flip);
  const int64_t bytes = padded * depth + 4 * w.outputs;
  set_view(to, "w",
           binder.packed(from.operand("w"), {}, name, DType::i8, {bytes},
                         [=](const std::vector<Tensor>& t) -> Result<Tensor> {
                           Tensor out(DType::i8, {bytes});
                           auto* to = out.mutable_data<int8_t>();
                           for (int64_t n = 0; n < w.outputs; ++n) {
                             int32_t sum = 0;
                             for (int64_t k = 0; k < w.taps * w.inputs; ++k) {
                               const int64_t at = k / terms * run + k % terms;
                               to[n * depth + at] = code(t[0], n, k / w.inputs, k % w.inputs);
                               sum += to[n * depth + at];
                             }
                             std::memcpy(to + padded * depth + 4 * n, &sum, 4);
                           }
                           return out;
                         }));
}

}  // namespace qc
