// Times of GPU GEMM: of tiles on tensor cores by a fitted model, of threads in its terms. Tiles and
// variants are chosen by them.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/qtile/qtile.h"
#include "program/estimate.h"

namespace qc {

/// Integer GEMM: sums of `terms` products for each of rows x outputs results.
struct GemmSize {
  int64_t rows, outputs, terms;
  bool residual;
};

/// Tiles for a GEMM, and an estimate of the clock cycles that it takes with them.
struct TileEstimate {
  int64_t shape, cycles;
};

/// A row of gpu_tiles.inc.
struct TileFit {
  int32_t shape;
  int64_t tile, residual, alone, products;
};
constexpr TileFit kTileFits[] = {
#define QK_TILE(shape, tile, residual, alone, products) {shape, tile, residual, alone, products},
#include "kernels/qtile/gpu_tiles.inc"
#undef QK_TILE
};

/// Whether the chunks of a tile, and of the others that share a multiprocessor, find room there.
inline bool has_room(const Facts& facts, const qk_mma_shape& s) {
  const int64_t bytes = int64_t{s.rows + s.columns} * s.chunk * s.stages;
  return bytes <= facts.shared_block &&
         bytes * std::max(s.resident, 1) <= facts.shared_multiprocessor;
}

/// The shape from `first` to `last` with the least estimate, the first of equals, or -1 where none
/// has room. Multiprocessors
/// compute tiles in rounds; a tile costs a fixed time and, for each chunk, the longer of its
/// products and its copies from the second-level cache. A tile alone waits for every chunk. A
/// residual is waited for, which little hides where a tile has a multiprocessor for itself. Cycles
/// are those of the machine the table was fitted on; rates and sizes are the machine's own.
inline TileEstimate tile_estimate(const GemmSize& gemm, const Facts& facts, int32_t first,
                                  int32_t last) {
  const auto most = static_cast<int64_t>(facts.per_clock(facts.tensor_gmacs));
  TileEstimate best{-1, 0};
  if (most == 0 || facts.l2_bytes == 0) return best;
  for (const TileFit& fit : kTileFits) {
    const qk_mma_shape s = qk_mma_shape_of(fit.shape);
    if (fit.shape < first || fit.shape > last || !has_room(facts, s)) continue;
    const int64_t tiles =
        ((gemm.rows + s.rows - 1) / s.rows) * ((gemm.outputs + s.columns - 1) / s.columns);
    const int64_t chunks = (gemm.terms + s.chunk - 1) / s.chunk;
    const int64_t products = int64_t{s.rows} * s.columns * s.chunk / std::min(fit.products, most);
    const int64_t copies = int64_t{s.rows + s.columns} * s.chunk / facts.l2_bytes;
    const int64_t rounds = (tiles + facts.multiprocessors - 1) / facts.multiprocessors;
    const int64_t tile = fit.tile + (gemm.residual ? fit.residual : 0);
    const int64_t cycles =
        std::max(rounds * (tile + chunks * std::max(products, copies)), tile + chunks * fit.alone);
    if (best.shape < 0 || cycles < best.cycles) best = {fit.shape, cycles};
  }
  return best;
}
/// Tiles of mma.cu. With `lines` terms are put together byte by byte, for which large chunks are
/// better.
inline TileEstimate mma_estimate(const GemmSize& gemm, const Facts& facts, bool lines) {
  return tile_estimate(gemm, facts, lines ? QK_MMA_LINES : 0, QK_MMA_SHAPES - 1);
}
/// Tiles of wgmma.cu.
inline TileEstimate wgmma_estimate(const GemmSize& gemm, const Facts& facts) {
  return tile_estimate(gemm, facts, QK_WGMMA_FIRST, QK_WGMMA_FIRST + QK_WGMMA_SHAPES - 1);
}

/// Nanoseconds of clock cycles.
inline double nanoseconds(double cycles, const Facts& facts) { return cycles / facts.clock_ghz; }

/// Nanoseconds of threads that compute results one by one, at a rate of the whole GPU: like the
/// smallest tile, but products, copies and waits follow each other, for no copies run ahead. So
/// threads take longer than tiles wherever tensor cores take the call.
inline double thread_nanoseconds(const GemmSize& gemm, const Facts& facts, double gmacs) {
  constexpr TileFit kFit = kTileFits[QK_MMA_SHAPES - 1];
  const qk_mma_shape s = qk_mma_shape_of(kFit.shape);
  const auto in = [](int64_t n, int64_t each) {
    return std::ceil(static_cast<double>(n) / static_cast<double>(each));
  };
  const double tiles = in(gemm.rows, s.rows) * in(gemm.outputs, s.columns);
  const double chunks = in(gemm.terms, s.chunk);
  const double rounds = std::ceil(tiles / static_cast<double>(facts.multiprocessors));
  const double products =
      static_cast<double>(int64_t{s.rows} * s.columns * s.chunk) / facts.per_clock(gmacs);
  const double copies = static_cast<double>(int64_t{s.rows + s.columns} * s.chunk) /
                        static_cast<double>(std::max<int64_t>(facts.l2_bytes, 1));
  const auto tile = static_cast<double>(kFit.tile + (gemm.residual ? kFit.residual : 0));
  return nanoseconds(
      rounds * (tile + chunks * (products + copies)) + chunks * static_cast<double>(kFit.alone),
      facts);
}
/// Nanoseconds of a call that is a GEMM at a rate: on a device a thread computes each unit.
inline double gemm_nanoseconds(const Call& call, const Binder& binder, const GemmSize& gemm,
                               double gmacs) {
  const Target& target = binder.target();
  return target.device ? thread_nanoseconds(gemm, target.facts, gmacs)
                       : estimate(call, binder, gmacs);
}
/// Of a thread for each result that loads every code by itself.
inline double plain_nanoseconds(const GemmSize& gemm, const Facts& facts) {
  return thread_nanoseconds(gemm, facts, 0.1 * facts.f32_gmacs);
}

}  // namespace qc
