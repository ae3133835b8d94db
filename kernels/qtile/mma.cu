/* A unit is a tile of outputs, which 256 threads compute together. Compilers without CUDA compute
 * it plainly, from the same packed weights. */
#include "kernels/common/cuda.h"
#include "kernels/qtile/mma_results.h"

QK_UNIT int64_t qk_qtile_mma_units(const qk_qtile_params* p) { return qk_mma_tiles(p); }
QK_UNIT int32_t qk_qtile_mma_shared(const qk_qtile_params* p) { return qk_mma_tile_memory(p); }

#if defined(__CUDA_ARCH__)

/* Where a warp has all terms, a thread has pairs of columns (qk_mma_row_of) of every eighth row. */
QK_UNIT qk_mma_writing qk_mma_own_writing(const qk_mma_shape shape, const qk_mma_warp_tile own_warp,
                                          const qk_mma_tile tile) {
  const int32_t wide = shape.columns / shape.warps_n;
  const qk_mma_writing w = {shape.rows / shape.warps_m / 8, wide / 16, 8,
                            tile.column + own_warp.column + (own_warp.lane & 3) * (wide / 4),
                            tile.row + own_warp.row + (own_warp.lane >> 2)};
  return w;
}
/* Where warps divide the terms, accumulators meet in shared memory: a thread takes four neighbours.
 */
QK_UNIT qk_mma_writing qk_mma_joint_writing(const qk_mma_shape shape,
                                            const qk_mma_warp_tile own_warp,
                                            const qk_mma_tile tile) {
  const int32_t high = shape.rows / shape.warps_m, quads = shape.columns / shape.warps_n / 4;
  const int32_t thread = own_warp.k_step * 32 + own_warp.lane,
                apart = own_warp.k_steps * 32 / quads;
  const qk_mma_writing w = {high / apart, 1, apart,
                            tile.column + own_warp.column + thread % quads * 4,
                            tile.row + own_warp.row + thread / quads};
  return w;
}
QK_UNIT qk_mma_writing qk_mma_writing_of(const qk_mma_shape shape, const qk_mma_warp_tile own_warp,
                                         const qk_mma_tile tile) {
  return qk_mma_is_direct(shape) ? qk_mma_own_writing(shape, own_warp, tile)
                                 : qk_mma_joint_writing(shape, own_warp, tile);
}

/* The parts of accumulators that warps have meet in shared memory and become results. */
QK_UNIT void qk_mma_finish_joint(const qk_qtile_params* p, const qk_mma_shape shape,
                                 const qk_mma_warp_tile own_warp, const qk_mma_writing w,
                                 int32_t (*accumulators)[8][4], unsigned char* shared,
                                 const qk_q_epilogue* e, const qk_q_four* four,
                                 const uint32_t* others) {
  const int32_t high = shape.rows / shape.warps_m, wide = shape.columns / shape.warps_n;
  const int32_t apart = wide + 8; /* so that eight rows lie in different banks */
  const int32_t own =
      ((int32_t)threadIdx.x >> 5) % (8 / own_warp.k_steps); /* the part of the tile */
  const int32_t size = high * apart, step = 8 / own_warp.k_steps * size;
  const int32_t thread = own_warp.k_step * 32 + own_warp.lane, quads = wide / 4;
  int32_t* const parts = (int32_t*)shared + own * size;
  int32_t* const to = parts + own_warp.k_step * step;
#pragma unroll
  for (int32_t i = 0; i < high / 8 * (wide / 8); ++i) {
    const int32_t line = i / (wide / 8), n = i % (wide / 8), half = line % 2 * 2;
    *(int2*)(to + (line * 8 + (own_warp.lane >> 2)) * apart + n * 8 + (own_warp.lane & 3) * 2) =
        make_int2(accumulators[line / 2][n][half], accumulators[line / 2][n][half + 1]);
  }
  __syncthreads();
#pragma unroll
  for (int32_t i = 0; i < w.rows; ++i) {
    const int32_t* const from = parts + (thread / quads + i * w.apart) * apart + thread % quads * 4;
    int32_t all[1][4] = {{0, 0, 0, 0}};
#pragma unroll
    for (int32_t k_step = 0; k_step < own_warp.k_steps; ++k_step) {
      const int4 more = *(const int4*)(from + k_step * step);
      all[0][0] += more.x;
      all[0][1] += more.y;
      all[0][2] += more.z;
      all[0][3] += more.w;
    }
    qk_mma_write(p, w, e, four, all, others + i, w.row + i * w.apart);
  }
}

QK_UNIT void qk_mma_tile_on_device(const qk_qtile_params* p, const qk_mma_shape shape, int64_t unit,
                                   const void* x, const uint8_t* w, const qk_q_epilogue* e) {
  extern __shared__ __align__(128) unsigned char qk_mma_memory_of_tile[];
  const qk_mma_warp_tile own_warp = qk_mma_warp_tile_of(shape);
  const qk_mma_tile tile = qk_mma_tile_of(p, unit);
  const int32_t steps = qk_mma_depth(p) / shape.chunk,
                all = steps * (shape.chunk / 32 / own_warp.k_steps);
  const int direct = qk_mma_is_direct(shape);
  /* Constants of results are loaded beside the first terms where there are few of these, or the
   * tile is small, and codes of the residual where it is small; else registers are scarce. */
  const int small = shape.rows * shape.columns <= 128 * 64, early = small || steps <= 2;
  const qk_mma_writing writing = qk_mma_writing_of(shape, own_warp, tile);
  int32_t accumulators[4][8][4] = {0};
  uint32_t others[32];
  qk_q_four fours[4];
  qk_mma_fragments even, odd;
  const qk_mma_block block = qk_mma_block_of(p, shape, tile, x, w, e, qk_mma_memory_of_tile);
#pragma unroll
  for (int32_t s = 0; s < shape.stages - 1; ++s) {
    if (s < steps) qk_mma_fetch(p, shape, &block, s);
    asm volatile("cp.async.commit_group;");
  }
  if (direct) qk_mma_begin(writing, e, accumulators);
  if (early) qk_mma_constants(writing, e, direct, fours);
  if (small) qk_mma_others(p, writing, e, others);
  if (shape.stages == 6) {
    asm volatile("cp.async.wait_group 4;");
  } else {
    asm volatile("cp.async.wait_group 2;");
  }
  __syncthreads();
  qk_mma_load(&even, shape, own_warp, block.memory, 0);
  for (int32_t at = 0; at < all; at += 2) {
    qk_mma_multiply_step(p, shape, own_warp, &block, steps, at, &even, &odd, accumulators);
    if (at + 1 < all)
      qk_mma_multiply_step(p, shape, own_warp, &block, steps, at + 1, &odd, &even, accumulators);
  }
  if (!early) qk_mma_constants(writing, e, direct, fours);
  if (!small) qk_mma_others(p, writing, e, others);
  if (direct) {
    qk_mma_finish_own(p, writing, accumulators, e, fours, others);
  } else {
    asm volatile("cp.async.wait_all;");
    __syncthreads();
    qk_mma_finish_joint(p, shape, own_warp, writing, accumulators, qk_mma_memory_of_tile, e, fours,
                        others);
  }
}

#endif

QK_UNIT void qk_qtile_mma(const qk_qtile_params* p, int64_t unit, const void* x, const void* w,
                          const void* bias, const void* multipliers, const void* float_bias,
                          const void* x_scales, const void* x_zeros, const void* residual,
                          const void* y_zeros, void* y) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800 && !defined(QK_FAT)
#error "this code is for GPUs from sm_80 on: quantc compile --target cuda is for older ones"
#endif
  const qk_q_epilogue epilogue = qk_mma_epilogue_of(p, w, bias, multipliers, float_bias, x_scales,
                                                    x_zeros, residual, y_zeros, y);
#if defined(__CUDA_ARCH__)
  qk_mma_tile_on_device(p, qk_mma_shape_of(p->shape), unit, x, (const uint8_t*)w, &epilogue);
#else
  qk_mma_plain_tile(p, &epilogue, unit, x, w);
#endif
}
