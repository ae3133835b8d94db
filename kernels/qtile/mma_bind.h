// Products of codes on GPUs: weights packed for kernels/qtile/mma.cu and dp4a.cu.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "kernels/common/codes.h"
#include "kernels/qtile/calls.h"
#include "kernels/qtile/mma_pack.h"
#include "program/variant.h"

namespace qc {

/// Why these kernels do not take a call with such operands; empty where they do.
inline std::string mma_refusal(const Call& call, const Binder& binder, const Dim& x_type) {
  if (!(x_type == Dim(QK_I8) || x_type == Dim(QK_U8))) return "codes of x have more than 8 bits";
  if (call.operand("w_zeros").present()) return "weights have zero points";
  return binder.not_constant(call, {"w"});
}

/// Tiles for a product, and an estimate of the clock cycles that it takes with them.
struct MmaTiles {
  int64_t shape, cycles;
};

/// Clock cycles of a tile, of its residual, of a chunk of a tile alone; products a cycle.
struct MmaCost {
  int64_t tile, residual, alone, products;
};
constexpr MmaCost kMmaCosts[QK_MMA_SHAPES] = {{6800, 4500, 1300, 1690}, {5500, 3500, 1150, 1640},
                                              {4300, 2500, 1000, 1330}, {1700, 350, 700, 1260},
                                              {1700, 350, 750, 1190},   {1640, 200, 490, 600},
                                              {1900, 200, 580, 400}};
constexpr MmaCost kWgmmaCosts[QK_WGMMA_SHAPES] = {{7200, 4400, 270, 3200},
                                                  {4300, 3750, 650, 3030},
                                                  {2360, 1990, 1350, 2080},
                                                  {2730, 1400, 950, 1660},
                                                  {1300, 1160, 270, 1220}};

/// The tiles for so many rows, outputs and terms, of those from `first` on: the ones with the least
/// estimate for a GPU with 132 multiprocessors. Tiles take their turns on these; a tile costs a
/// fixed time and, for each chunk, what its products take, or its copies from the second-level
/// cache. A tile alone waits for every chunk. The figures were fitted to times on an H200. A
/// residual is waited for, which little hides where a tile takes a multiprocessor for itself.
inline MmaTiles mma_tiles(int64_t rows, int64_t outputs, int64_t terms, bool residual,
                          std::span<const MmaCost> costs, int32_t first) {
  constexpr int64_t kProcessors = 132, kBytes = 64;
  MmaTiles best{-1, 0};
  for (size_t i = 0; i < costs.size(); ++i) {
    const int32_t shape = first + static_cast<int32_t>(i);
    const qk_mma_shape s = qk_mma_shape_of(shape);
    const MmaCost& cost = costs[i];
    const int64_t tiles = ((rows + s.rows - 1) / s.rows) * ((outputs + s.columns - 1) / s.columns);
    const int64_t chunks = (terms + s.chunk - 1) / s.chunk;
    const int64_t products = int64_t{s.rows} * s.columns * s.chunk / cost.products;
    const int64_t copies = int64_t{s.rows + s.columns} * s.chunk / kBytes;
    const int64_t turns = (tiles + kProcessors - 1) / kProcessors;
    const int64_t tile = cost.tile + (residual ? cost.residual : 0);
    const int64_t cycles =
        std::max(turns * (tile + chunks * std::max(products, copies)), tile + chunks * cost.alone);
    if (best.shape < 0 || cycles < best.cycles) best = {shape, cycles};
  }
  return best;
}
/// Those of mma.cu. With `lines` terms are put together byte by byte, for which large chunks are
/// better.
inline MmaTiles mma_tiles(int64_t rows, int64_t outputs, int64_t terms, bool residual, bool lines) {
  const int32_t first = lines ? QK_MMA_LINES : 0;
  return mma_tiles(rows, outputs, terms, residual,
                   std::span(kMmaCosts).subspan(static_cast<size_t>(first)), first);
}
/// Those of wgmma.cu.
inline MmaTiles wgmma_tiles(int64_t rows, int64_t outputs, int64_t terms, bool residual) {
  return mma_tiles(rows, outputs, terms, residual, kWgmmaCosts, QK_WGMMA_FIRST);
}
/// Why tiles of wgmma.cu are not for such a product; empty where they are.
inline std::string wgmma_refusal(int64_t rows, int64_t channels, int64_t outputs, int64_t taps,
                                 bool residual) {
  if (channels % 16) return "input channels are no multiple of 16";
  return wgmma_tiles(rows, outputs, taps * channels, residual).cycles <
                 mma_tiles(rows, outputs, taps * channels, residual, false).cycles
             ? ""
             : "small tiles are estimated to be faster";
}

/// Makes a call of qtile_blocks one of so many images of one position and one tap.
inline void as_product(Call& to, const Dim& rows) {
  for (const char* one : {"in", "out", "k", "stride", "dilation"}) {
    for (size_t axis = 0; axis < 3; ++axis) to.params[to.kernel->field(one)->at + axis] = Dim(1);
  }
  set_integer(to, "n", rows);
}

/// What computes a product: tiles on tensor cores, or threads.
enum class MmaBody { tiles, wide_tiles, threads };

/// A call of the kernel for that with what it has in common with `from`.
inline Call mma_call(const Call& from, MmaBody body) {
  if (body == MmaBody::threads) return Binder::like(from, "qtile_dp4a", {"cuda"});
  return Binder::like(from, "qtile_blocks", {body == MmaBody::tiles ? "mma" : "wgmma"});
}

/// Gives a call its shape and its weights.
inline void pack_mma(Call& to, const Call& from, Binder& binder, const qk_mma_weights& w,
                     MmaBody body) {
  auto p = c_params<qk_qtile_params>(to);
  const int64_t rows = int64_t{p.n} * p.out[0] * p.out[1] * p.out[2], terms = w.taps * p.ic;
  const bool lines = p.ic % 16 != 0 && p.k[2] > 1 && p.dilation[2] == 1;
  const bool residual = from.operand("residual").present();
  const int64_t shape = body == MmaBody::threads ? QK_MMA_SHAPES
                        : body == MmaBody::tiles
                            ? mma_tiles(rows, p.oc, terms, residual, lines).shape
                            : wgmma_tiles(rows, p.oc, terms, residual).shape;
  set_integer(to, "lines", lines);
  set_integer(to, "shape", shape);
  set_integer(to, "resident", qk_mma_shape_of(static_cast<int32_t>(shape)).resident);
  p = c_params<qk_qtile_params>(to);
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
