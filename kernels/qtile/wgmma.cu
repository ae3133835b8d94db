/* The products of kernels/qtile/qtile.h on the tensor cores of sm_90a. A unit is a tile of outputs,
 * which two groups of four warps compute together. Compilers without CUDA compute it plainly, from
 * the same packed weights. */
#include "kernels/common/cuda.h"
#include "kernels/qtile/mma_results.h"
#include "kernels/qtile/wgmma_device.h"

QK_UNIT int64_t qk_qtile_wgmma_units(const qk_qtile_params* p) { return qk_mma_tiles(p); }
QK_UNIT int32_t qk_qtile_wgmma_shared(const qk_qtile_params* p) { return qk_mma_tile_memory(p); }

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

QK_UNIT void qk_wgmma_tile_on_device(const qk_qtile_params* p, const qk_mma_shape shape,
                                     int64_t unit, const void* x, const uint8_t* w,
                                     const qk_q_epilogue* e) {
  extern __shared__ __align__(1024) unsigned char qk_wgmma_memory[];
  const qk_mma_warp_tile own_warp = qk_wg_warp_of(shape);
  const qk_mma_tile tile = qk_mma_tile_of(p, unit);
  const int32_t steps = qk_mma_depth(p) / shape.chunk, ahead = shape.stages - 2;
  const int32_t groups = shape.columns / shape.warps_n / 64;
  const int32_t parts = shape.rows / (shape.warps_m / 4) / 64 * groups;
  const uint32_t bytes = (uint32_t)(shape.rows + shape.columns) * (uint32_t)shape.chunk;
  const int32_t warp = (int32_t)threadIdx.x >> 5 & 3;
  /* Each 64 rows and columns: a thread has two rows, eight apart, of 16 outputs. */
  qk_mma_writing writing = {2, 4, 8, tile.column + own_warp.column + (own_warp.lane & 3) * 16,
                            tile.row + own_warp.row + warp * 16 + (own_warp.lane >> 2)};
  int32_t accumulators[4][8][4];
  uint32_t others[4][8];
  const qk_mma_block block = qk_mma_block_of(p, shape, tile, x, w, e, qk_wgmma_memory);
#pragma unroll
  for (int32_t s = 0; s < ahead; ++s) {
    if (s < steps) qk_mma_fetch(p, shape, &block, s);
    asm volatile("cp.async.commit_group;");
  }
#pragma unroll
  for (int32_t i = 0; i < parts; ++i)
    qk_mma_begin(qk_wg_writing(writing, i, groups), e, accumulators + i);
  qk_wg_keep(&accumulators[0][0][0], 32 * parts);
#pragma unroll 1
  for (int32_t step = 0; step < steps; ++step) {
    qk_wg_await(shape);
    qk_wg_chunk(shape, own_warp, block.memory + (uint32_t)(step % shape.stages) * bytes,
                p->x_type == QK_U8, accumulators);
    if (step + ahead < steps) qk_mma_fetch(p, shape, &block, step + ahead);
    asm volatile("cp.async.commit_group;");
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
  }
#pragma unroll
  for (int32_t i = 0; i < parts; ++i)
    qk_mma_others(p, qk_wg_writing(writing, i, groups), e, others[i]);
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  qk_wg_keep(&accumulators[0][0][0], 32 * parts);
#pragma unroll
  for (int32_t g = 0; g < groups; ++g) {
    qk_q_four fours[4];
    qk_mma_constants(qk_wg_writing(writing, g, groups), e, 1, fours);
#pragma unroll
    for (int32_t i = g; i < parts; i += groups)
      qk_mma_finish_own(p, qk_wg_writing(writing, i, groups), accumulators + i, e, fours,
                        others[i]);
  }
}

/* Accumulators are registers, so compilers must know how many there are: with QK_ANY_SHAPE, where
 * one kernel takes all shapes, each has code of its own. */
QK_UNIT void qk_wgmma_tile(const qk_qtile_params* p, int64_t unit, const void* x, const uint8_t* w,
                           const qk_q_epilogue* e) {
#if defined(QK_ANY_SHAPE)
#pragma unroll
  for (int32_t i = QK_WGMMA_FIRST; i < QK_WGMMA_FIRST + QK_WGMMA_SHAPES; ++i) {
    if (p->shape == i) qk_wgmma_tile_on_device(p, qk_mma_shape_of(i), unit, x, w, e);
  }
#else
  qk_wgmma_tile_on_device(p, qk_mma_shape_of(p->shape), unit, x, w, e);
#endif
}

#endif

/* nvcc -arch=sm_90a also compiles for compute_90, which lacks the instructions: nothing runs that
 * PTX. Code for sm_90 itself has the same macros, so it is refused where it is assembled. */
#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
extern "C" __device__ void this_code_is_for_sm_90a_and_not_sm_90(void);
#endif

QK_UNIT void qk_qtile_wgmma(const qk_qtile_params* p, int64_t unit, const void* x, const void* w,
                            const void* bias, const void* multipliers, const void* float_bias,
                            const void* x_scales, const void* x_zeros, const void* residual,
                            const void* y_zeros, void* y) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ != 900
#error "this code is for sm_90a: quantc compile --target cuda is for all GPUs"
#endif
  const qk_q_epilogue epilogue = qk_mma_epilogue_of(p, w, bias, multipliers, float_bias, x_scales,
                                                    x_zeros, residual, y_zeros, y);
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  qk_wgmma_tile(p, unit, x, (const uint8_t*)w, &epilogue);
#elif defined(__CUDA_ARCH__)
  this_code_is_for_sm_90a_and_not_sm_90();
#else
  qk_mma_plain_tile(p, &epilogue, unit, x, w);
#endif
}
