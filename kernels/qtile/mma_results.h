/* How the accumulators of a tile become results: shared by kernels/qtile/mma.cu and wgmma.cu. */
#ifndef QK_QTILE_MMA_RESULTS_H
#define QK_QTILE_MMA_RESULTS_H

#include "kernels/qtile/mma_device.h"
#include "kernels/qtile/mma_epilogue.h"

/* The output at (row, n), plainly. */
QK_UNIT void qk_mma_output(const qk_qtile_params* p, const qk_q_epilogue* e, int64_t row, int32_t n,
                           const void* x, const int8_t* w) {
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

/* A tile of outputs, plainly. */
QK_UNIT void qk_mma_plain_tile(const qk_qtile_params* p, const qk_q_epilogue* e, int64_t unit,
                               const void* x, const void* w) {
  const qk_mma_shape shape = qk_mma_shape_of(p->shape);
  const qk_mma_tile tile = qk_mma_tile_of(p, unit);
  for (int64_t row = tile.row; row < tile.row + shape.rows && row < qk_mma_rows(p); ++row) {
    for (int32_t n = tile.column; n < tile.column + shape.columns && n < p->oc; ++n)
      qk_mma_output(p, e, row, n, x, (const int8_t*)w);
  }
}

#if defined(__CUDA_ARCH__)

/* How threads write the results of their part of a tile: `each` times four neighbouring outputs of
 * `rows` rows, `apart` rows from each other. `n` is the first output. */
typedef struct qk_mma_writing {
  int32_t rows, each, apart, n;
  int64_t row;
} qk_mma_writing;

/* What this thread of a block knows of its tile. */
QK_UNIT qk_mma_block qk_mma_block_of(const qk_qtile_params* p, const qk_mma_shape shape,
                                     const qk_mma_tile tile, const void* x, const uint8_t* w,
                                     const qk_q_epilogue* e, const unsigned char* memory) {
  const int32_t vectors = shape.chunk / 16, apart = 256 / vectors;
  const int32_t row = (int32_t)threadIdx.x / vectors;
  qk_mma_block block;
  block.x = (const uint8_t*)x;
  block.depth = qk_mma_depth(p);
  block.w = w + (int64_t)(tile.column + row) * block.depth + (int32_t)threadIdx.x % vectors * 16;
  block.memory = (uint32_t)__cvta_generic_to_shared(memory);
  block.zeros = ((uint32_t)(e->x_zeros ? *e->x_zeros : p->x_zero) & 0xff) * 0x01010101u;
  block.aligned = ((uintptr_t)x & 15) == 0;
#pragma unroll
  for (int32_t i = 0; i < shape.rows / apart; ++i)
    block.windows[i] = qk_mma_window_of(p, tile.row + row + i * apart);
  return block;
}

/* Words of codes of a row: where they lie, and how many outputs there are from there on. Whether
 * all of a thread's words are in the row, or none, compilers know. */
typedef struct qk_mma_words {
  int64_t at;
  int32_t count, left, oc;
} qk_mma_words;

QK_UNIT qk_mma_words qk_mma_words_of(const qk_qtile_params* p, const qk_mma_writing w,
                                     int64_t row) {
  const qk_mma_words words = {row * p->oc + w.n, w.each, p->oc - w.n, p->oc};
  return words;
}
/* The bytes that are moved at once. */
QK_UNIT int32_t qk_mma_moved(const qk_mma_words w) {
  return w.oc % (4 * w.count) == 0 ? 4 * w.count : 4;
}
/* From `base` on: at once where it lies so, and otherwise byte by byte. */
QK_UNIT void qk_mma_load_words(uint32_t* to, const void* base, const qk_mma_words w) {
  const uint8_t* const from = (const uint8_t*)base + w.at;
  const int32_t moved = qk_mma_moved(w);
  const int aligned = ((uintptr_t)base & (uintptr_t)(moved - 1)) == 0;
  if (aligned && moved == 16) {
    qk_q_load_four(to, from);
    return;
  }
#pragma unroll
  for (int32_t q = 0; q < w.count; ++q) {
    if (4 * q >= w.left) continue;
    if (aligned) {
      to[q] = *(const uint32_t*)(from + 4 * q);
    } else {
#pragma unroll
      for (int32_t b = 0; b < 4; ++b) to[q] |= (uint32_t)from[4 * q + b] << (8 * b);
    }
  }
}
QK_UNIT void qk_mma_store_words(void* base, const uint32_t* words, const qk_mma_words w) {
  uint8_t* const to = (uint8_t*)base + w.at;
  const int32_t moved = qk_mma_moved(w);
  const int aligned = ((uintptr_t)base & (uintptr_t)(moved - 1)) == 0;
  if (aligned && moved == 16) {
    *(uint4*)to = make_uint4(words[0], words[1], words[2], words[3]);
    return;
  }
  if (aligned && moved == 8) {
    *(uint2*)to = make_uint2(words[0], words[1]);
    return;
  }
#pragma unroll
  for (int32_t q = 0; q < w.count; ++q) {
    if (4 * q >= w.left) continue;
    if (aligned) {
      *(uint32_t*)(to + 4 * q) = words[q];
    } else {
#pragma unroll
      for (int32_t b = 0; b < 4; ++b) to[4 * q + b] = (uint8_t)(words[q] >> (8 * b));
    }
  }
}

/* The codes of the residual that a thread adds, in the order in which it writes. They are read
 * before anything is written, since nobody says that they are not where the results go. */
QK_UNIT void qk_mma_others(const qk_qtile_params* p, const qk_mma_writing w, const qk_q_epilogue* e,
                           uint32_t* others) {
#pragma unroll
  for (int32_t i = 0; i < w.rows; ++i) {
    const int64_t row = w.row + i * w.apart;
#pragma unroll
    for (int32_t q = 0; q < w.each; ++q) others[i * w.each + q] = 0;
    if (e->to.residual && qk_q_in_fours(e) && row < qk_mma_rows(p) && w.n < p->oc)
      qk_mma_load_words(others + i * w.each, e->to.residual, qk_mma_words_of(p, w, row));
  }
}

/* The results of a row's accumulators, four times `each`. Each is computed by one text only:
 * threads wait for instructions that they meet first. */
QK_UNIT void qk_mma_write(const qk_qtile_params* p, const qk_mma_writing w, const qk_q_epilogue* e,
                          const qk_q_four* fours, int32_t (*accumulators)[4],
                          const uint32_t* others, int64_t row) {
  uint32_t words[4] = {0, 0, 0, 0};
  const int filled = p->oc % qk_mma_shape_of(p->shape).columns == 0;
  if (row >= qk_mma_rows(p) || w.n >= p->oc) return;
#pragma unroll
  for (int32_t q = 0; q < w.each; ++q) {
    if (!filled && w.n + 4 * q >= p->oc) continue;
    if (!qk_q_in_fours(e)) {
#pragma unroll
      for (int32_t c = 0; c < 4; ++c) {
        if (w.n + 4 * q + c < p->oc) qk_q_finish_of_four(e, &fours[q], accumulators[q][c], row, c);
      }
    } else if (qk_q_are_bytes(e)) {
      words[q] = qk_q_four_codes(e, &fours[q], accumulators[q], others[q], row);
    } else {
      qk_q_store_four(e, &fours[q], accumulators[q], row);
    }
  }
  if (qk_q_in_fours(e) && qk_q_are_bytes(e))
    qk_mma_store_words(e->y, words, qk_mma_words_of(p, w, row));
}

/* Where a warp has all terms, accumulators begin with what is added to them. */
QK_UNIT void qk_mma_begin(const qk_mma_writing w, const qk_q_epilogue* e,
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
QK_UNIT void qk_mma_constants(const qk_mma_writing w, const qk_q_epilogue* e, int begun,
                              qk_q_four* fours) {
#pragma unroll
  for (int32_t q = 0; q < w.each; ++q) {
    fours[q] = qk_q_four_of(e, w.n + 4 * q);
#pragma unroll
    for (int32_t i = 0; i < 4; ++i) fours[q].bias[i] = begun ? 0 : fours[q].bias[i];
  }
}
/* The accumulators that a thread has become results. */
QK_UNIT void qk_mma_finish_own(const qk_qtile_params* p, const qk_mma_writing w,
                               int32_t (*accumulators)[8][4], const qk_q_epilogue* e,
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

#endif
#endif
