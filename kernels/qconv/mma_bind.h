// Products of codes on GPUs: weights packed for kernels/qconv/mma.cu and dp4a.cu.
#pragma once

#include <fmt/format.h>

#include <algorithm>

#include "kernels/qconv/calls.h"
#include "kernels/qconv/mma_pack.h"
#include "program/variant.h"

namespace qc {

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
/// `lines` terms are put together byte by byte, for which large chunks are better. A residual is
/// waited for, which little hides where a tile takes a multiprocessor for itself.
inline int64_t mma_shape(int64_t rows, int64_t outputs, int64_t terms, bool lines, bool residual) {
  struct Cost {
    int64_t tile, residual, alone,
        products;  // clocks of a tile, of its residual, of a chunk of a tile alone; products a
                   // clock
  };
  constexpr Cost kCosts[QK_MMA_SHAPES] = {{6800, 4500, 1300, 1690}, {5500, 3500, 1150, 1640},
                                          {4300, 2500, 1000, 1330}, {1700, 350, 700, 1260},
                                          {1700, 350, 750, 1190},   {1640, 200, 490, 600},
                                          {1900, 200, 580, 400}};
  constexpr int64_t kProcessors = 132, kBytes = 64;
  int64_t best = 0, least = 0;
  for (int32_t i = lines ? QK_MMA_LINES : 0; i < QK_MMA_SHAPES; ++i) {
    const qk_mma_shape s = qk_mma_shape_of(i);
    const Cost& cost = kCosts[i];
    const int64_t tiles = ((rows + s.rows - 1) / s.rows) * ((outputs + s.columns - 1) / s.columns);
    const int64_t chunks = (terms + s.chunk - 1) / s.chunk;
    const int64_t products = int64_t{s.rows} * s.columns * s.chunk / cost.products;
    const int64_t copies = int64_t{s.rows + s.columns} * s.chunk / kBytes;
    const int64_t turns = (tiles + kProcessors - 1) / kProcessors;
    const int64_t tile = cost.tile + (residual ? cost.residual : 0);
    const int64_t cycles =
        std::max(turns * (tile + chunks * std::max(products, copies)), tile + chunks * cost.alone);
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
inline void pack_mma(Call& to, const Call& from, Binder& binder, const qk_mma_weights& w,
                     bool tiles) {
  auto p = c_params<qk_qconv_mma_params>(to);
  const int64_t rows = int64_t{p.n} * p.out[0] * p.out[1] * p.out[2];
  const bool lines = p.ic % 16 != 0 && p.k[2] > 1 && p.dilation[2] == 1;
  set_integer(to, "lines", lines);
  set_integer(to, "shape",
              tiles
                  ? mma_shape(rows, p.oc, w.taps * p.ic, lines, from.operand("residual").present())
                  : int64_t{QK_MMA_SHAPES});
  p = c_params<qk_qconv_mma_params>(to);
  const std::string name =
      fmt::format("mma.{}.{}.{}.{}.{}.{}.{}.{}.{}", p.shape, p.lines, p.oc, w.taps, p.ic,
                  w.n_stride, w.tap_stride, w.c_stride, w.flip != 0);
  const int64_t bytes = qk_mma_packed_bytes(&p);
  const auto pack = [=](const std::vector<Tensor>& t) -> Result<Tensor> {
    Tensor out(DType::i8, {bytes});
    qk_mma_pack(&p, &w, reinterpret_cast<const uint8_t*>(t[0].bytes().data()),
                reinterpret_cast<uint8_t*>(out.mutable_bytes().data()));
    return out;
  };
  set_view(to, "w", binder.packed(from.operand("w"), {}, name, DType::i8, {bytes}, pack));
}

}  // namespace qc
