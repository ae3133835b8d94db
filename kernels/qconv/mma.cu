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

/* How a warp's part of a tile is written: `bands` times 16 rows at a time lie in shared memory,
 * from which a thread takes four neighbouring sums, every `threads`th. */
typedef struct qk_mma_writing {
  int32_t high, wide, bands, apart, quads, thread, threads;
} qk_mma_writing;

QK_UNIT qk_mma_writing qk_mma_writing_of(const qk_mma_shape shape, const qk_mma_part part) {
  qk_mma_writing w;
  w.high = shape.rows / shape.warps_m / 16;
  w.wide = shape.columns / shape.warps_n;
  w.bands = part.turns > 1 ? w.high : 1;
  w.apart = w.wide + 8; /* so that eight rows lie in different banks */
  w.quads = w.wide / 4;
  w.thread = part.turn * 32 + part.lane;
  w.threads = part.turns * 32;
  return w;
}

/* The codes of the residual that a thread adds, in the order in which it writes. They are read
 * before anything is written, since nobody says that they are not where the results go. */
QK_UNIT void qk_mma_others(const qk_qconv_mma_params* p, const qk_mma_shape shape,
                           const qk_mma_part part, const qk_mma_tile tile, const qk_q_ending* e,
                           const qk_q_four* four, uint32_t* others) {
  const qk_mma_writing w = qk_mma_writing_of(shape, part);
  const int32_t each = w.bands * 16 * w.quads / w.threads;
  const int64_t top = tile.row + part.row + w.thread / w.quads;
  const int there = e->to.residual && qk_q_by_four(e) && four->n < p->oc;
#pragma unroll
  for (int32_t i = 0; i < w.high / w.bands * each; ++i) {
    const int64_t row = top + i / each * w.bands * 16 + i % each * (w.threads / w.quads);
    others[i] = there && row < qk_mma_rows(p) ? qk_q_others(e, four, row) : 0;
  }
}

/* The sums of a warp's part become results. They go through shared memory: so the parts of a sum
 * meet, and neighbouring threads write neighbouring outputs. */
QK_UNIT void qk_mma_finish(const qk_qconv_mma_params* p, const qk_mma_shape shape,
                           const qk_mma_part part, const qk_mma_tile tile, int32_t (*sums)[8][4],
                           unsigned char* shared, const qk_q_ending* e, const qk_q_four* four,
                           const uint32_t* others) {
  const qk_mma_writing w = qk_mma_writing_of(shape, part);
  const int32_t own = ((int32_t)threadIdx.x >> 5) % (8 / part.turns); /* the part of the tile */
  const int32_t size = w.bands * 16 * w.apart, step = 8 / part.turns * size;
  const int32_t each = w.bands * 16 * w.quads / w.threads; /* of a thread */
  const int32_t by_four = qk_q_by_four(e);
  const int64_t rows = qk_mma_rows(p);
  int32_t* const parts = (int32_t*)shared + own * size;
  int32_t* const to = parts + part.turn * step;
#pragma unroll
  for (int32_t band = 0; band < w.high; band += w.bands) {
    if (band) __syncwarp();
#pragma unroll
    for (int32_t m = 0; m < w.bands; ++m) {
#pragma unroll
      for (int32_t n = 0; n < w.wide / 8; ++n) {
#pragma unroll
        for (int32_t half = 0; half < 2; ++half)
          *(int2*)(to + (m * 16 + half * 8 + (part.lane >> 2)) * w.apart + n * 8 +
                   (part.lane & 3) * 2) =
              make_int2(sums[band + m][n][half * 2], sums[band + m][n][half * 2 + 1]);
      }
    }
    if (part.turns > 1) {
      __syncthreads();
    } else {
      __syncwarp();
    }
#pragma unroll
    for (int32_t i = 0; i < each; ++i) {
      const int32_t below = w.thread / w.quads + i * (w.threads / w.quads);
      const int32_t* const from = parts + below * w.apart + w.thread % w.quads * 4;
      const int64_t row = tile.row + part.row + band * 16 + below;
      int32_t four_sums[4] = {0, 0, 0, 0};
#pragma unroll
      for (int32_t turn = 0; turn < part.turns; ++turn) {
        const int4 more = *(const int4*)(from + turn * step);
        four_sums[0] += more.x;
        four_sums[1] += more.y;
        four_sums[2] += more.z;
        four_sums[3] += more.w;
      }
      if (row >= rows || four->n >= p->oc) continue;
      if (by_four) {
        qk_q_end_four(e, four, four_sums, others[band / w.bands * each + i], row);
      } else {
#pragma unroll
        for (int32_t c = 0; c < 4; ++c) {
          if (four->n + c < p->oc) qk_q_end(e, four_sums[c], row, four->n + c);
        }
      }
    }
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
  const int early = shape.rows * shape.columns <= 128 * 64; /* else registers are scarce */
  int32_t sums[4][8][4] = {0};
  uint32_t others[32];
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
  if (shape.stages == 6) {
    asm volatile("cp.async.wait_group 4;");
  } else {
    asm volatile("cp.async.wait_group 2;");
  }
  __syncthreads();
  qk_mma_load(&even, shape, part, block.memory, 0);
  if (early) {
    const qk_mma_writing writing = qk_mma_writing_of(shape, part);
    qk_q_four place = {};
    place.n = tile.column + part.column + writing.thread % writing.quads * 4;
    qk_mma_others(p, shape, part, tile, e, &place, others);
  }
  for (int32_t at = 0; at < all; at += 2) {
    qk_mma_turn(p, shape, part, &block, steps, at, &even, &odd, sums);
    if (at + 1 < all) qk_mma_turn(p, shape, part, &block, steps, at + 1, &odd, &even, sums);
  }
  asm volatile("cp.async.wait_all;");
  __syncthreads();
  const qk_mma_writing writing = qk_mma_writing_of(shape, part);
  const qk_q_four four =
      qk_q_four_of(e, tile.column + part.column + writing.thread % writing.quads * 4);
  if (!early) qk_mma_others(p, shape, part, tile, e, &four, others);
  qk_mma_finish(p, shape, part, tile, sums, qk_mma_memory, e, &four, others);
}

#endif

/* The output at (row, n), plainly. */
QK_UNIT void qk_mma_output(const qk_qconv_mma_params* p, const qk_q_ending* e, int64_t row,
                           int32_t n, const void* x, const int8_t* w) {
  const qk_mma_window window = qk_mma_window_of(p, row);
  const int32_t zero = e->x_zeros ? e->x_zeros[p->per_row ? row : 0] : p->x_zero;
  const int32_t depth = qk_mma_depth(p), length = p->in[2] * p->ic;
  uint32_t sum = 0;
  for (int32_t k = 0; k < depth; ++k) {
    const qk_mma_term term = qk_mma_term_of(p, k);
    const int32_t at = qk_mma_at_in_line(p, &window, &term);
    const int inside =
        qk_mma_is_term(p, &term) && qk_mma_in_line(p, &window, &term) && at >= 0 && at < length;
    const int64_t from = window.begin + qk_mma_offset(p, &term);
    const int32_t code = inside ? qk_load_code(x, p->x_type, (ptrdiff_t)from) : zero;
    sum += (uint32_t)code * (uint32_t)w[(int64_t)n * depth + k];
  }
  qk_q_end(e, (int32_t)sum, row, n);
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
