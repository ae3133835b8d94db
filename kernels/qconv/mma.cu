/* A unit is a tile of outputs, which 256 threads compute together. Compilers without CUDA compute
 * it plainly, from the same packed weights. */
#include "kernels/common/cuda.h"
#include "kernels/qconv/ending.h"
#include "kernels/qconv/mma_device.h"

QK_UNIT int64_t qk_qconv_mma_units(const qk_qconv_mma_params* p) {
  return qk_mma_row_tiles(p) * (qk_mma_outputs(p) / qk_mma_shape_of(p->shape).columns);
}
QK_UNIT int32_t qk_qconv_mma_shared(const qk_qconv_mma_params* p) {
  const qk_mma_shape s = qk_mma_shape_of(p->shape);
  return (s.rows + s.columns) * s.chunk * s.stages;
}

#if defined(__CUDA_ARCH__)

/* How threads write the results of their part of a tile: `each` times four neighbouring outputs of
 * `rows` rows, `apart` rows from each other. `n` is the first output. */
typedef struct qk_mma_writing {
  int32_t rows, each, apart, n;
  int64_t row;
} qk_mma_writing;

/* Where a warp has all terms, a thread has pairs of columns (qk_mma_row_of) of every eighth row. */
QK_UNIT qk_mma_writing qk_mma_own_writing(const qk_mma_shape shape, const qk_mma_part part,
                                          const qk_mma_tile tile) {
  const int32_t wide = shape.columns / shape.warps_n;
  const qk_mma_writing w = {shape.rows / shape.warps_m / 8, wide / 16, 8,
                            tile.column + part.column + (part.lane & 3) * (wide / 4),
                            tile.row + part.row + (part.lane >> 2)};
  return w;
}
/* Where warps divide the terms, accumulators meet in shared memory: a thread takes four neighbours.
 */
QK_UNIT qk_mma_writing qk_mma_joint_writing(const qk_mma_shape shape, const qk_mma_part part,
                                            const qk_mma_tile tile) {
  const int32_t high = shape.rows / shape.warps_m, quads = shape.columns / shape.warps_n / 4;
  const int32_t thread = part.turn * 32 + part.lane, apart = part.turns * 32 / quads;
  const qk_mma_writing w = {high / apart, 1, apart, tile.column + part.column + thread % quads * 4,
                            tile.row + part.row + thread / quads};
  return w;
}
QK_UNIT qk_mma_writing qk_mma_writing_of(const qk_mma_shape shape, const qk_mma_part part,
                                         const qk_mma_tile tile) {
  return qk_mma_is_direct(shape) ? qk_mma_own_writing(shape, part, tile)
                                 : qk_mma_joint_writing(shape, part, tile);
}

/* The codes of the residual that a thread adds, in the order in which it writes. They are read
 * before anything is written, since nobody says that they are not where the results go. */
QK_UNIT void qk_mma_others(const qk_qconv_mma_params* p, const qk_mma_writing w,
                           const qk_q_ending* e, uint32_t* others) {
  const int by_words = qk_q_by_words(e, w.each);
  const int there = e->to.residual && qk_q_by_four(e);
#pragma unroll
  for (int32_t i = 0; i < w.rows; ++i) {
    const int64_t row = w.row + i * w.apart;
    const uint8_t* const from = (const uint8_t*)e->to.residual + row * e->oc + w.n;
#pragma unroll
    for (int32_t q = 0; q < w.each; ++q) others[i * w.each + q] = 0;
    if (!there || row >= qk_mma_rows(p)) continue;
    if (by_words && w.n < p->oc) {
      qk_mma_load_words(others + i * w.each, from, w.each);
    } else {
#pragma unroll
      for (int32_t q = 0; q < w.each; ++q) {
        if (w.n + 4 * q < p->oc) others[i * w.each + q] = *(const uint32_t*)(from + 4 * q);
      }
    }
  }
}

/* The results of a row's accumulators, four times `each`. */
QK_UNIT void qk_mma_write(const qk_qconv_mma_params* p, const qk_mma_writing w,
                          const qk_q_ending* e, const qk_q_four* fours, int32_t (*accumulators)[4],
                          const uint32_t* others, int64_t row) {
  uint32_t words[4];
  if (row >= qk_mma_rows(p) || w.n >= p->oc) return;
  if (qk_q_by_words(e, w.each)) {
#pragma unroll
    for (int32_t q = 0; q < w.each; ++q)
      words[q] = qk_q_four_codes(e, &fours[q], accumulators[q], others[q], row);
    qk_mma_store_words((uint8_t*)e->y + row * e->oc + w.n, words, w.each);
    return;
  }
#pragma unroll
  for (int32_t q = 0; q < w.each; ++q) {
    if (qk_q_by_four(e)) {
      if (w.n + 4 * q < p->oc) qk_q_finish_four(e, &fours[q], accumulators[q], others[q], row);
    } else {
#pragma unroll
      for (int32_t c = 0; c < 4; ++c) {
        if (w.n + 4 * q + c < p->oc) qk_q_finish_of_four(e, &fours[q], accumulators[q][c], row, c);
      }
    }
  }
}

/* Where a warp has all terms, accumulators begin with what is added to them. */
QK_UNIT void qk_mma_begin(const qk_mma_writing w, const qk_q_ending* e,
                          int32_t (*accumulators)[8][4]) {
  uint32_t bias[16];
#pragma unroll
  for (int32_t q = 0; q < w.each; ++q) {
    const qk_q_four four = qk_q_four_of(e, w.n + 4 * q);
#pragma unroll
    for (int32_t i = 0; i < 4; ++i) bias[4 * q + i] = four.bias[i];
  }
#pragma unroll
  for (int32_t i = 0; i < w.rows; ++i) {
#pragma unroll
    for (int32_t c = 0; c < 4 * w.each; ++c)
      accumulators[i / 2][c / 2][i % 2 * 2 + c % 2] = (int32_t)bias[c];
  }
}
/* The constants of a thread's outputs; what accumulators begin with is no longer added. */
QK_UNIT void qk_mma_constants(const qk_mma_writing w, const qk_q_ending* e, int begun,
                              qk_q_four* fours) {
#pragma unroll
  for (int32_t q = 0; q < w.each; ++q) {
    fours[q] = qk_q_four_of(e, w.n + 4 * q);
#pragma unroll
    for (int32_t i = 0; i < 4; ++i) fours[q].bias[i] = begun ? 0 : fours[q].bias[i];
  }
}
/* The accumulators that a thread has become results. */
QK_UNIT void qk_mma_finish_own(const qk_qconv_mma_params* p, const qk_mma_writing w,
                               int32_t (*accumulators)[8][4], const qk_q_ending* e,
                               const qk_q_four* fours, const uint32_t* others) {
#pragma unroll
  for (int32_t i = 0; i < w.rows; ++i) {
    int32_t own[4][4];
#pragma unroll
    for (int32_t c = 0; c < 4 * w.each; ++c)
      own[c / 4][c % 4] = accumulators[i / 2][c / 2][i % 2 * 2 + c % 2];
    qk_mma_write(p, w, e, fours, own, others + i * w.each, w.row + i * w.apart);
  }
}

/* The parts of accumulators that warps have meet in shared memory and become results. */
QK_UNIT void qk_mma_finish_joint(const qk_qconv_mma_params* p, const qk_mma_shape shape,
                                 const qk_mma_part part, const qk_mma_writing w,
                                 int32_t (*accumulators)[8][4], unsigned char* shared,
                                 const qk_q_ending* e, const qk_q_four* four,
                                 const uint32_t* others) {
  const int32_t high = shape.rows / shape.warps_m, wide = shape.columns / shape.warps_n;
  const int32_t apart = wide + 8; /* so that eight rows lie in different banks */
  const int32_t own = ((int32_t)threadIdx.x >> 5) % (8 / part.turns); /* the part of the tile */
  const int32_t size = high * apart, step = 8 / part.turns * size;
  const int32_t thread = part.turn * 32 + part.lane, quads = wide / 4;
  int32_t* const parts = (int32_t*)shared + own * size;
  int32_t* const to = parts + part.turn * step;
#pragma unroll
  for (int32_t i = 0; i < high / 8 * (wide / 8); ++i) {
    const int32_t line = i / (wide / 8), n = i % (wide / 8), half = line % 2 * 2;
    *(int2*)(to + (line * 8 + (part.lane >> 2)) * apart + n * 8 + (part.lane & 3) * 2) =
        make_int2(accumulators[line / 2][n][half], accumulators[line / 2][n][half + 1]);
  }
  __syncthreads();
#pragma unroll
  for (int32_t i = 0; i < w.rows; ++i) {
    const int32_t* const from = parts + (thread / quads + i * w.apart) * apart + thread % quads * 4;
    int32_t all[1][4] = {{0, 0, 0, 0}};
#pragma unroll
    for (int32_t turn = 0; turn < part.turns; ++turn) {
      const int4 more = *(const int4*)(from + turn * step);
      all[0][0] += more.x;
      all[0][1] += more.y;
      all[0][2] += more.z;
      all[0][3] += more.w;
    }
    qk_mma_write(p, w, e, four, all, others + i, w.row + i * w.apart);
  }
}

QK_UNIT void qk_mma_tile_on_device(const qk_qconv_mma_params* p, const qk_mma_shape shape,
                                   int64_t unit, const void* x, const uint8_t* w,
                                   const qk_q_ending* e) {
  extern __shared__ __align__(128) unsigned char qk_mma_memory[];
  const qk_mma_part part = qk_mma_part_of(shape);
  const qk_mma_tile tile = qk_mma_tile_of(p, unit);
  const int32_t pieces = shape.chunk / 16, apart = 256 / pieces;
  const int32_t row = (int32_t)threadIdx.x / pieces, depth = qk_mma_depth(p);
  const int32_t steps = depth / shape.chunk, all = steps * (shape.chunk / 32 / part.turns);
  const int direct = qk_mma_is_direct(shape);
  /* Constants of results are loaded beside the first terms where there are few of these, or the
   * tile is small, and codes of the residual where it is small; else registers are scarce. */
  const int small = shape.rows * shape.columns <= 128 * 64, early = small || steps <= 2;
  const qk_mma_writing writing = qk_mma_writing_of(shape, part, tile);
  int32_t accumulators[4][8][4] = {0};
  uint32_t others[32];
  qk_q_four fours[4];
  qk_mma_fragments even, odd;
  qk_mma_block block;
  block.x = (const uint8_t*)x;
  block.depth = depth;
  block.w = w + (int64_t)(tile.column + row) * depth + (int32_t)threadIdx.x % pieces * 16;
  block.memory = (uint32_t)__cvta_generic_to_shared(qk_mma_memory);
  block.zeros = ((uint32_t)(e->x_zeros ? *e->x_zeros : p->x_zero) & 0xff) * 0x01010101u;
  block.aligned = ((uintptr_t)x & 15) == 0;
#pragma unroll
  for (int32_t i = 0; i < shape.rows / apart; ++i)
    block.windows[i] = qk_mma_window_of(p, tile.row + row + i * apart);
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
  qk_mma_load(&even, shape, part, block.memory, 0);
  for (int32_t at = 0; at < all; at += 2) {
    qk_mma_turn(p, shape, part, &block, steps, at, &even, &odd, accumulators);
    if (at + 1 < all) qk_mma_turn(p, shape, part, &block, steps, at + 1, &odd, &even, accumulators);
  }
  if (!early) qk_mma_constants(writing, e, direct, fours);
  if (!small) qk_mma_others(p, writing, e, others);
  if (direct) {
    qk_mma_finish_own(p, writing, accumulators, e, fours, others);
  } else {
    asm volatile("cp.async.wait_all;");
    __syncthreads();
    qk_mma_finish_joint(p, shape, part, writing, accumulators, qk_mma_memory, e, fours, others);
  }
}

#endif

/* The output at (row, n), plainly. */
QK_UNIT void qk_mma_output(const qk_qconv_mma_params* p, const qk_q_ending* e, int64_t row,
                           int32_t n, const void* x, const int8_t* w) {
  const qk_mma_window window = qk_mma_window_of(p, row);
  const int32_t zero = e->x_zeros ? e->x_zeros[p->per_row ? row : 0] : p->x_zero;
  const int32_t depth = qk_mma_depth(p), length = p->in[2] * p->ic;
  const int8_t* const own = w + (int64_t)qk_mma_row_of(qk_mma_shape_of(p->shape), n) * depth;
  uint32_t sum = 0;
  for (int32_t k = 0; k < depth; ++k) {
    const qk_mma_term term = qk_mma_term_of(p, k);
    const int32_t at = qk_mma_at_in_line(p, &window, &term);
    const int inside =
        qk_mma_is_term(p, &term) && qk_mma_in_line(p, &window, &term) && at >= 0 && at < length;
    const int64_t from = window.begin + qk_mma_offset(p, &term);
    const int32_t code = inside ? qk_load_code(x, p->x_type, (ptrdiff_t)from) : zero;
    sum += (uint32_t)code * (uint32_t)own[k];
  }
  qk_q_finish_one(e, (int32_t)sum, row, n);
}

QK_UNIT void qk_qconv_mma(const qk_qconv_mma_params* p, int64_t unit, const void* x, const void* w,
                          const void* bias, const void* multipliers, const void* float_bias,
                          const void* x_scales, const void* x_zeros, const void* residual,
                          const void* y_zeros, void* y) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800 && !defined(QK_FAT)
#error "this code is for GPUs from sm_80 on: quantc compile --target cuda is for older ones"
#endif
  const qk_mma_shape shape = qk_mma_shape_of(p->shape);
  qk_q_ending ending = {
      QK_Q_OUTPUT(p, multipliers, (const float*)float_bias, x_scales != 0, residual),
      (const int32_t*)bias,
      (const int32_t*)((const uint8_t*)w + (int64_t)qk_mma_outputs(p) * qk_mma_depth(p)),
      (const float*)x_scales,
      (const int32_t*)x_zeros,
      p->oc,
      p->per_row,
      p->x_zero,
      y};
  ending.to.zeros = (const int32_t*)y_zeros;
#if defined(__CUDA_ARCH__)
  qk_mma_tile_on_device(p, shape, unit, x, (const uint8_t*)w, &ending);
#else
  const qk_mma_tile tile = qk_mma_tile_of(p, unit);
  for (int64_t row = tile.row; row < tile.row + shape.rows && row < qk_mma_rows(p); ++row) {
    for (int32_t n = tile.column; n < tile.column + shape.columns && n < p->oc; ++n)
      qk_mma_output(p, &ending, row, n, x, (const int8_t*)w);
  }
#endif
}
