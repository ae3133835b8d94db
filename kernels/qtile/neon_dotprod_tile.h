/* The tile of every dense product of u8 and s8 with NEON's sdot: some rows by one panel of 1 to 4
 * vectors of 4 outputs (kernels/qtile/pack.h), all accumulators in registers. Inputs are taken less
 * 128, as s8, and the zero point of x is part of the accumulators' start with what that changes.
 * Accumulators are exact modulo 2^32. No byte outside the runs is read.
 *
 * Needs dotprod of armv8.2-a. Stack: at most 1 KiB. */
#ifndef QK_QTILE_NEON_DOTPROD_TILE_H
#define QK_QTILE_NEON_DOTPROD_TILE_H

#include <arm_neon.h>

#include "kernels/common/shared.h"
#include "kernels/common/unroll.h"
#include "kernels/qtile/packed.h"

#define QK_PTILE_PANELS QK_PANELS_NEON_DOTPROD
#define QK_PTILE_LANES 4
#define QK_PTILE_UNIT 4
#define QK_PTILE_SHIFT 128

/* acc + the dot products of four lanes of four bytes with lane `lane` of x. Written as assembly,
 * for some compilers hide the intrinsic unless an option names the extension. */
#define QK_SDOT(acc, w, x, lane) \
  __asm__("sdot %0.4s, %1.16b, %2.4b[" #lane "]" : "+w"(acc) : "w"(w), "w"(x))

/* n <= 16 bytes of a row less 128; the others are 0. */
QK_INLINE int8x16_t qk_sdot_load(const uint8_t* x, int32_t n) {
  uint8_t some[16];
  if (n == 16) return vreinterpretq_s8_u8(veorq_u8(vld1q_u8(x), vdupq_n_u8(0x80)));
  memset(some, 0, 16);
  QK_NOT_EACH for (int32_t i = 0; i < n; ++i) some[i] = x[i] ^ 0x80;
  return vreinterpretq_s8_u8(vld1q_u8(some));
}

/* Lane 0 to 3 of a unit's accumulators, for a constant lane. */
QK_INLINE int32x4_t qk_sdot(int32x4_t acc, int8x16_t w, int8x16_t x, const int lane) {
  switch (lane) {
    case 0:
      QK_SDOT(acc, w, x, 0);
      break;
    case 1:
      QK_SDOT(acc, w, x, 1);
      break;
    case 2:
      QK_SDOT(acc, w, x, 2);
      break;
    default:
      QK_SDOT(acc, w, x, 3);
      break;
  }
  return acc;
}

/* Accumulators of `units` <= 4 units of each row. */
QK_INLINE void qk_sdot_step(int32x4_t* acc, const int8x16_t* x, const int8_t* w, const int lane,
                            const int rows, const int vectors) {
  int8x16_t wv[4];
  QK_EACH for (int v = 0; v < vectors; ++v) wv[v] = vld1q_s8(w + 16 * v);
  QK_EACH for (int m = 0; m < rows; ++m) {
    QK_EACH for (int v = 0; v < vectors; ++v) {
      acc[m * vectors + v] = qk_sdot(acc[m * vectors + v], wv[v], x[m], lane);
    }
  }
}

/* Accumulators of one run. */
QK_INLINE void qk_sdot_run(int32x4_t* acc, const qk_ptile* t, const uint8_t* x, const int8_t* w,
                           const int rows, const int vectors) {
  int32_t left = t->k;
  int8x16_t xv[4];
  for (; left >= 16; left -= 16, x += 16, w += 64 * vectors) {
    QK_EACH for (int m = 0; m < rows; ++m) xv[m] = qk_sdot_load(x + m * t->x_row, 16);
    qk_sdot_step(acc, xv, w, 0, rows, vectors);
    qk_sdot_step(acc, xv, w + 16 * vectors, 1, rows, vectors);
    qk_sdot_step(acc, xv, w + 32 * vectors, 2, rows, vectors);
    qk_sdot_step(acc, xv, w + 48 * vectors, 3, rows, vectors);
  }
  for (; left > 0; left -= 4, x += 4, w += 16 * vectors) {
    const int32_t n = left < 4 ? left : 4;
    QK_EACH for (int m = 0; m < rows; ++m) xv[m] = qk_sdot_load(x + m * t->x_row, n);
    qk_sdot_step(acc, xv, w, 0, rows, vectors);
  }
}

/* Four accumulators to what is stored: floats, or the accumulators. */
QK_INLINE int32x4_t qk_sdot_plain(const qk_ptile* t, int32x4_t sum, int v, int32_t row) {
  float32x4_t scale, f;
  if (t->x_zeros) sum = vmlsq_n_s32(sum, vld1q_s32(t->weight_sums + 4 * v), t->x_zeros[row]);
  if (!t->floats) return sum;
  scale = vld1q_f32(t->multipliers + 4 * v);
  if (t->x_scales) scale = vmulq_n_f32(scale, t->x_scales[row]);
  f = vmulq_f32(vcvtq_f32_s32(sum), scale);
  /* Hidden, so that it does not become a fused product. */
  __asm__("" : "+w"(f));
  if (t->float_bias) f = vaddq_f32(f, vld1q_f32(t->float_bias + 4 * v));
  return vreinterpretq_s32_f32(f);
}

/* Four accumulators to codes less their zero point; a NaN is the least. */
QK_INLINE float32x4_t qk_sdot_code(const qk_ptile* t, int32x4_t sum, int v) {
  const float32x4_t least = vdupq_n_f32(t->least), most = vdupq_n_f32(t->most);
  float32x4_t f = vmulq_f32(vcvtq_f32_s32(sum), vld1q_f32(t->multipliers + 4 * v));
  f = vbslq_f32(vcgtq_f32(f, least), f, least);
  return vrndnq_f32(vminq_f32(f, most));
}

/* Codes of four accumulators added to the residual's, rounded. */
QK_INLINE int32x4_t qk_sdot_added(const qk_ptile* t, float32x4_t f, const uint8_t* other) {
  const uint8_t flip = (uint8_t)t->other_flip;
  const float four[4] = {(float)(other[0] ^ flip), (float)(other[1] ^ flip),
                         (float)(other[2] ^ flip), (float)(other[3] ^ flip)};
  const float32x4_t rc = vdupq_n_f32(t->code_ratio), ro = vdupq_n_f32(t->other_ratio);
  const float32x4_t addend = vdupq_n_f32(t->addend);
  const float32x4_t o = vsubq_f32(vld1q_f32(four), vdupq_n_f32(t->other_zero));
  f = vaddq_f32(f, vdupq_n_f32(t->code_shift));
  return vcvtnq_s32_f32(t->inner ? vfmaq_f32(vfmaq_f32(addend, f, rc), o, ro)
                                 : vfmaq_f32(vfmaq_f32(addend, o, ro), f, rc));
}

/* What becomes of accumulators [rows][vectors][4]: they are limited, and stored as bytes or words.
 */
QK_SHARED void qk_sdot_finish(const qk_ptile* t, const int32_t* accumulators, int32_t row,
                              int32_t rows, int32_t vectors, uint8_t* y, ptrdiff_t at) {
  for (int32_t m = 0; m < rows; ++m, at += t->y_row) {
    for (int32_t v = 0; v < vectors; ++v, accumulators += 4) {
      const int32_t left = t->columns - 4 * v, n = left < 4 ? left : 4;
      const int32x4_t sum = vld1q_s32(accumulators);
      int32_t four[4];
      uint8_t other[4] = {0, 0, 0, 0};
      if (n <= 0) continue;
      if (t->path == QK_PTILE_PLAIN) {
        vst1q_s32(four, qk_sdot_plain(t, sum, v, row + m));
        memcpy(y + 4 * (at + 4 * v), four, 4 * (size_t)n);
        continue;
      }
      if (t->path == QK_PTILE_ADDED) {
        memcpy(other, t->residual + at + 4 * v, (size_t)n);
        vst1q_s32(four, qk_sdot_added(t, qk_sdot_code(t, sum, v), other));
      } else {
        vst1q_s32(four, vcvtnq_s32_f32(qk_sdot_code(t, sum, v)));
      }
      for (int32_t i = 0; i < n; ++i) {
        const int32_t zero = t->zeros ? t->zeros[4 * v + i] : t->zero;
        int32_t code = four[i];
        if (code < t->lo - zero) code = t->lo - zero;
        if (code > t->hi - zero) code = t->hi - zero;
        y[at + 4 * v + i] = (uint8_t)((code + zero) ^ t->flip);
      }
    }
  }
}

QK_INLINE void qk_sdot_tile_of(const qk_ptile* t, int32_t row, const uint8_t* x, const int8_t* w,
                               uint8_t* y, ptrdiff_t at, const int rows, const int vectors) {
  int32x4_t acc[16];
  int32_t accumulators[64];
  QK_EACH for (int v = 0; v < vectors; ++v) {
    const int32x4_t start = vld1q_s32(t->start + 4 * v);
    QK_EACH for (int m = 0; m < rows; ++m) acc[m * vectors + v] = start;
  }
  if (t->row_start) {
    QK_EACH for (int m = 0; m < rows; ++m) {
      QK_EACH for (int v = 0; v < vectors; ++v) {
        acc[m * vectors + v] = vaddq_s32(acc[m * vectors + v], vdupq_n_s32(t->row_start[row + m]));
      }
    }
  }
  qk_sdot_run(acc, t, x, w, rows, vectors);
  QK_EACH for (int i = 0; i < rows * vectors; ++i) vst1q_s32(accumulators + 4 * i, acc[i]);
  qk_sdot_finish(t, accumulators, row, rows, vectors, y, at);
}

#define QK_SDOT_TILE(M, V)                                                                \
  QK_SHARED void qk_sdot_tile_##M##x##V(const qk_ptile* t, int32_t row, const uint8_t* x, \
                                        const int8_t* w, uint8_t* y, ptrdiff_t at) {      \
    qk_sdot_tile_of(t, row, x, w, y, at, M, V);                                           \
  }
QK_SDOT_TILE(4, 4)
QK_SDOT_TILE(1, 4)
QK_SDOT_TILE(4, 3)
QK_SDOT_TILE(1, 3)
QK_SDOT_TILE(4, 2)
QK_SDOT_TILE(1, 2)
QK_SDOT_TILE(4, 1)
QK_SDOT_TILE(1, 1)

/* One tile of the `left` rows; returns its rows. */
#define QK_SDOT_CASE(V)                      \
  if (vectors == V && left >= 4) {           \
    qk_sdot_tile_4x##V(t, row, x, w, y, at); \
    return 4;                                \
  }                                          \
  if (vectors == V) {                        \
    qk_sdot_tile_1x##V(t, row, x, w, y, at); \
    return 1;                                \
  }
QK_INLINE int32_t qk_sdot_tile_next(const qk_ptile* t, int32_t row, const uint8_t* x,
                                    const int8_t* w, uint8_t* y, ptrdiff_t at, int32_t left,
                                    int32_t vectors) {
  QK_SDOT_CASE(4)
  QK_SDOT_CASE(3)
  QK_SDOT_CASE(2)
  QK_SDOT_CASE(1)
  return left;
}

/* `rows` rows of a panel, the first of them element `at` of y. */
QK_INLINE void qk_ptile_rows(const qk_ptile* t, const uint8_t* x, const int8_t* w, uint8_t* y,
                             ptrdiff_t at, int32_t rows, int32_t vectors) {
  for (int32_t row = 0; row < rows;) {
    row += qk_sdot_tile_next(t, row, x + row * t->x_row, w, y, at + row * t->y_row, rows - row,
                             vectors);
  }
}

/* The sum of k codes. */
QK_INLINE int32_t qk_ptile_sum(const uint8_t* x, int32_t k) {
  int32_t i = 0, sum = 0;
  for (; i + 16 <= k; i += 16) sum += vaddlvq_u8(vld1q_u8(x + i));
  for (; i < k; ++i) sum += x[i];
  return sum;
}

/* Takes off the start of a panel's accumulators: the zero point of x times the weights' sums of a
 * tap. */
QK_INLINE void qk_ptile_less(int32_t* start, const int32_t* weight_sums, int32_t zero,
                             int32_t vectors) {
  for (int32_t i = 0; i < 4 * vectors; i += 4) {
    vst1q_s32(start + i, vmlsq_n_s32(vld1q_s32(start + i), vld1q_s32(weight_sums + i), zero));
  }
}

#endif
