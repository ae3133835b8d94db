/* What tensor cores compute a tile with: copies into shared memory, fragments, products. For
 * nvcc, and GPUs from sm_80 on. */
#ifndef QK_QTILE_MMA_DEVICE_H
#define QK_QTILE_MMA_DEVICE_H

#include "kernels/common/codes.h"
#include "kernels/common/warp.h"
#include "kernels/qtile/mma_source.h"

#if defined(__CUDA_ARCH__)

/* The offset of 16 bytes in a tile with rows of `chunk` bytes. The XOR swizzle puts eight rows
 * into different banks. */
QK_UNIT uint32_t qk_mma_at(int32_t row, int32_t vector, int32_t chunk) {
  const int32_t swizzle = chunk == 64 ? (row >> 1) & 3 : row & 7;
  return (uint32_t)(row * chunk + ((vector ^ swizzle) << 4));
}
QK_UNIT void qk_mma_copy16(uint32_t to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from));
}
/* The same where `there`, and otherwise four times `word`: one of two instructions runs, without a
 * branch. */
QK_UNIT void qk_mma_copy16_if(int there, uint32_t to, const void* from, uint32_t word) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %0, 0;\n"
      "@p cp.async.cg.shared.global [%1], [%2], 16;\n"
      "@!p st.shared.v4.b32 [%1], {%3, %3, %3, %3};\n}" ::"r"(there),
      "r"(to), "l"(from), "r"(word)
      : "memory");
}
QK_UNIT void qk_mma_store16(uint32_t to, const uint32_t* words) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(words[0]), "r"(words[1]),
               "r"(words[2]), "r"(words[3]));
}
/* 16 bytes of x at any address, all of them there, lie in five words: these are loaded and, later,
 * shifted. */
QK_UNIT void qk_mma_words_at(uint32_t* own, const uint8_t* from) {
  const uint32_t* const words = (const uint32_t*)((uintptr_t)from & ~(uintptr_t)3);
#pragma unroll
  for (int32_t i = 0; i < 4; ++i) own[i] = words[i];
  own[4] = (uintptr_t)from & 3 ? words[4] : 0;
}
QK_UNIT void qk_mma_shifted16(uint32_t to, const uint32_t* own, const uint8_t* from) {
  const uint32_t shift = ((uint32_t)(uintptr_t)from & 3) * 8;
  uint32_t out[4];
#pragma unroll
  for (int32_t i = 0; i < 4; ++i) out[i] = __funnelshift_r(own[i], own[i + 1], shift);
  qk_mma_store16(to, out);
}
/* 16 bytes from `from` on, which is byte `at` of a line of `length`; padding beside the line. */
QK_UNIT void qk_mma_edge16(uint32_t to, const uint8_t* from, int32_t at, int32_t length,
                           uint32_t zeros) {
  uint32_t out[4];
#pragma unroll
  for (int32_t i = 0; i < 4; ++i) {
    out[i] = 0;
#pragma unroll
    for (int32_t j = 0; j < 4; ++j) {
      const int32_t b = i * 4 + j;
      out[i] |= (at + b >= 0 && at + b < length ? (uint32_t)from[b] : zeros & 0xff) << (8 * j);
    }
  }
  qk_mma_store16(to, out);
}

/* What a block knows of its tile. */
typedef struct qk_mma_block {
  const uint8_t *x, *w; /* w: the row that this thread copies first */
  uint32_t memory;      /* shared */
  uint32_t zeros;       /* four times the code of padding */
  int32_t depth, aligned;
  qk_mma_window windows[8]; /* of the rows that this thread copies */
} qk_mma_block;

/* Copies 16 terms of each of `rows` windows, every `apart`th, where they are neighbours in x. */
QK_UNIT void qk_mma_fetch_whole(const qk_qtile_params* p, const qk_mma_block* block,
                                const qk_mma_term* term, int32_t rows, int32_t row, int32_t apart,
                                int32_t vector, int32_t chunk, uint32_t to) {
  const int32_t length = p->in[2] * p->ic, offset = qk_mma_offset(p, term);
#pragma unroll
  for (int32_t i = 0; i < rows; ++i) {
    const qk_mma_window* const window = &block->windows[i];
    const int32_t at = qk_mma_at_in_line(p, window, term);
    const int inside = qk_mma_is_term(p, term) && qk_mma_in_line(p, window, term) &&
                       (qk_mma_inside(p, 2) || (at >= 0 && at < length));
    qk_mma_copy16_if(inside, to + qk_mma_at(row + i * apart, vector, chunk),
                     block->x + (window->begin + offset), block->zeros);
  }
}

/* The same where terms may lie at any address and partly outside.
 * All are loaded before the first is stored, so that a thread waits once. */
QK_UNIT void qk_mma_fetch_any(const qk_qtile_params* p, const qk_mma_block* block,
                              const qk_mma_term* term, int32_t rows, int32_t row, int32_t apart,
                              int32_t vector, int32_t chunk, uint32_t to) {
  const int32_t length = p->in[2] * p->ic, offset = qk_mma_offset(p, term);
  uint32_t words[8][5];
#pragma unroll
  for (int32_t i = 0; i < rows; ++i) {
    const qk_mma_window* const window = &block->windows[i];
    const int32_t at = qk_mma_at_in_line(p, window, term);
    if (qk_mma_is_term(p, term) && qk_mma_in_line(p, window, term) && at >= 0 && at + 16 <= length)
      qk_mma_words_at(words[i], block->x + (window->begin + offset));
  }
#pragma unroll
  for (int32_t i = 0; i < rows; ++i) {
    const qk_mma_window* const window = &block->windows[i];
    const int32_t at = qk_mma_at_in_line(p, window, term);
    const uint32_t own = to + qk_mma_at(row + i * apart, vector, chunk);
    const uint8_t* const from = block->x + (window->begin + offset);
    if (!qk_mma_is_term(p, term) || !qk_mma_in_line(p, window, term)) {
      const uint32_t zeros[4] = {block->zeros, block->zeros, block->zeros, block->zeros};
      qk_mma_store16(own, zeros);
    } else if (at >= 0 && at + 16 <= length) {
      qk_mma_shifted16(own, words[i], from);
    } else {
      qk_mma_edge16(own, from, at, length, block->zeros);
    }
  }
}

/* The same of an x that does not begin at a multiple of 16 bytes. */
QK_UNIT void qk_mma_fetch_bytes(const qk_qtile_params* p, const qk_mma_block* block,
                                const qk_mma_term* term, int32_t rows, int32_t row, int32_t apart,
                                int32_t vector, int32_t chunk, uint32_t to) {
  const int32_t length = p->in[2] * p->ic, offset = qk_mma_offset(p, term);
#pragma unroll
  for (int32_t i = 0; i < rows; ++i) {
    const qk_mma_window* const window = &block->windows[i];
    const int32_t at = qk_mma_at_in_line(p, window, term);
    const int inside =
        qk_mma_is_term(p, term) && qk_mma_in_line(p, window, term) && at >= 0 && at < length;
    const uint32_t own = to + qk_mma_at(row + i * apart, vector, chunk);
    const uint8_t* const from = block->x + (window->begin + offset);
#pragma unroll 1
    for (uint32_t b = 0; b < 16; ++b) {
      const uint32_t code = inside ? (uint32_t)from[b] : block->zeros & 0xff;
      asm volatile("st.shared.u8 [%0], %1;" ::"r"(own + b), "r"(code));
    }
  }
}

/* One chunk of terms into a stage: rows of x, then rows of w. A thread copies the same 16 bytes of
 * some rows. */
QK_UNIT void qk_mma_fetch(const qk_qtile_params* p, const qk_mma_shape shape,
                          const qk_mma_block* block, int32_t step) {
  const int32_t vectors = shape.chunk / 16, apart = 256 / vectors;
  const int32_t row = (int32_t)threadIdx.x / vectors, vector = (int32_t)threadIdx.x % vectors;
  const int32_t k = step * shape.chunk + vector * 16;
  const uint32_t bytes = (uint32_t)(shape.rows + shape.columns) * (uint32_t)shape.chunk;
  const uint32_t to = block->memory + (uint32_t)(step % shape.stages) * bytes;
  const qk_mma_term term = qk_mma_term_of(p, k);
  if (p->ic % 16 == 0 && block->aligned) {
    qk_mma_fetch_whole(p, block, &term, shape.rows / apart, row, apart, vector, shape.chunk, to);
  } else if (p->ic % 16) {
    qk_mma_fetch_any(p, block, &term, shape.rows / apart, row, apart, vector, shape.chunk, to);
  } else { /* a rare x: bytes one after another take few registers */
    qk_mma_fetch_bytes(p, block, &term, shape.rows / apart, row, apart, vector, shape.chunk, to);
  }
#pragma unroll
  for (int32_t i = 0; i < shape.columns / apart; ++i)
    qk_mma_copy16(
        to + (uint32_t)(shape.rows * shape.chunk) + qk_mma_at(row + i * apart, vector, shape.chunk),
        block->w + ((int64_t)i * apart * block->depth + step * shape.chunk));
}

/* Which part of a tile a warp has: rows, columns and terms of a chunk. */
typedef struct qk_mma_warp_tile {
  int32_t lane, row, column, k_step, k_steps;
} qk_mma_warp_tile;

QK_UNIT qk_mma_warp_tile qk_mma_warp_tile_of(const qk_mma_shape shape) {
  const int32_t warp = (int32_t)threadIdx.x >> 5, parts = shape.warps_m * shape.warps_n;
  qk_mma_warp_tile own_warp;
  own_warp.lane = (int32_t)threadIdx.x & 31;
  own_warp.row = warp % shape.warps_m * (shape.rows / shape.warps_m);
  own_warp.column = warp / shape.warps_m % shape.warps_n * (shape.columns / shape.warps_n);
  own_warp.k_step = warp / parts;
  own_warp.k_steps = 8 / parts;
  return own_warp;
}

/* What a warp multiplies at once: 32 terms of its rows and columns. */
typedef struct qk_mma_fragments {
  uint32_t a[4][4], b[4][4];
} qk_mma_fragments;

/* Those of step `k_step` of the chunk at `from`: 16 rows, and 16 columns. */
QK_UNIT void qk_mma_load_rows(qk_mma_fragments* f, const qk_mma_shape shape,
                              const qk_mma_warp_tile own_warp, uint32_t from, int32_t k_step,
                              int32_t m) {
  const int32_t lane = own_warp.lane, vector = (own_warp.k_step + k_step * own_warp.k_steps) * 2;
  qk_mma_load4(f->a[m], from + qk_mma_at(own_warp.row + m * 16 + (lane & 15), vector + (lane >> 4),
                                         shape.chunk));
}
QK_UNIT void qk_mma_load_columns(qk_mma_fragments* f, const qk_mma_shape shape,
                                 const qk_mma_warp_tile own_warp, uint32_t from, int32_t k_step,
                                 int32_t n) {
  const int32_t lane = own_warp.lane, vector = (own_warp.k_step + k_step * own_warp.k_steps) * 2;
  const uint32_t w = from + (uint32_t)(shape.rows * shape.chunk);
  qk_mma_load4(f->b[n], w + qk_mma_at(own_warp.column + n * 16 + (lane & 7) + ((lane >> 4) << 3),
                                      vector + ((lane >> 3) & 1), shape.chunk));
}
QK_UNIT int32_t qk_mma_high(const qk_mma_shape shape) { return shape.rows / shape.warps_m / 16; }
QK_UNIT int32_t qk_mma_wide(const qk_mma_shape shape) { return shape.columns / shape.warps_n / 16; }

QK_UNIT void qk_mma_load(qk_mma_fragments* f, const qk_mma_shape shape,
                         const qk_mma_warp_tile own_warp, uint32_t from, int32_t k_step) {
#pragma unroll
  for (int32_t m = 0; m < qk_mma_high(shape); ++m)
    qk_mma_load_rows(f, shape, own_warp, from, k_step, m);
#pragma unroll
  for (int32_t n = 0; n < qk_mma_wide(shape); ++n)
    qk_mma_load_columns(f, shape, own_warp, from, k_step, n);
}

/* Waits until the chunk after the present one is in shared memory and nobody reads the one before.
 */
QK_UNIT void qk_mma_await(const qk_mma_shape shape) {
  if (shape.stages == 6) {
    asm volatile("cp.async.wait_group 3;");
  } else {
    asm volatile("cp.async.wait_group 1;");
  }
  __syncthreads();
}

/* Multiplies what was loaded before; the fragments after it are loaded in between, so that neither
 * waits for the other, and chunks after them copied. `at` counts steps of all chunks. Behind the
 * last there is nothing: what is loaded then is not used. */
QK_UNIT void qk_mma_multiply_step(const qk_qtile_params* p, const qk_mma_shape shape,
                                  const qk_mma_warp_tile own_warp, const qk_mma_block* block,
                                  int32_t steps, int32_t at, const qk_mma_fragments* now,
                                  qk_mma_fragments* next, int32_t (*accumulators)[8][4]) {
  const int32_t k_steps = shape.chunk / 32 / own_warp.k_steps, step = at / k_steps;
  const int32_t high = qk_mma_high(shape), wide = qk_mma_wide(shape);
  const uint32_t bytes = (uint32_t)(shape.rows + shape.columns) * (uint32_t)shape.chunk;
  const int last = at % k_steps == k_steps - 1;
  const int32_t of = last ? step + 1 : step, k_step = last ? 0 : at % k_steps + 1;
  const uint32_t from = block->memory + (uint32_t)(of % shape.stages) * bytes;
  if (last) {
    qk_mma_await(shape);
    if (step + shape.stages - 1 < steps) qk_mma_fetch(p, shape, block, step + shape.stages - 1);
    asm volatile("cp.async.commit_group;");
  }
#pragma unroll
  for (int32_t m = 0; m < high; ++m) {
    qk_mma_load_rows(next, shape, own_warp, from, k_step, m);
    if (m < wide) qk_mma_load_columns(next, shape, own_warp, from, k_step, m);
#pragma unroll
    for (int32_t n = 0; n < 2 * wide; ++n)
      qk_mma_add(accumulators[m][n], now->a[m], &now->b[n >> 1][(n & 1) * 2], p->x_type == QK_U8);
  }
#pragma unroll
  for (int32_t n = high; n < wide; ++n) qk_mma_load_columns(next, shape, own_warp, from, k_step, n);
}

#endif
#endif
