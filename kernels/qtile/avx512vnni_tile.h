/* The tile of every dense product of u8 and s8 with vpdpbusd: some rows by one panel of 1 to 4
 * vectors of 16 outputs (kernels/qtile/pack.h), all accumulators in registers. Accumulators are
 * exact modulo 2^32.
 *
 * A row is one output pixel or one row of a matrix; its products are runs of k neighbouring
 * inputs. The zero point of x is part of the accumulators' start. No byte outside the input is
 * read.
 *
 * Needs avx512f, bw, vl, dq and vnni. Stack: at most 4 KiB. */
#ifndef QK_QTILE_AVX512VNNI_TILE_H
#define QK_QTILE_AVX512VNNI_TILE_H

#include <immintrin.h>

#include "kernels/common/shared.h"
#include "kernels/common/unroll.h"
#include "kernels/qtile/packed.h"

#define QK_PTILE_PANELS QK_PANELS_AVX512VNNI
#define QK_PTILE_LANES 16
#define QK_PTILE_UNIT 4
#define QK_PTILE_SHIFT 0

/* gcc spills accumulators, or reads weights once per product, unless each is named in every step.
 */
#if defined(__GNUC__) && !defined(__clang__)
#define QK_VNNI_KEEP(v) __asm__("" : "+v"(v))
#else
#define QK_VNNI_KEEP(v) ((void)0)
#endif

/* The order of dwords that makes bytes packed in lanes the outputs of a panel, and back. */
QK_INLINE __m512i qk_vnni_order(const int vectors) {
  if (vectors == 1) return _mm512_setr_epi32(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  if (vectors == 2) return _mm512_setr_epi32(0, 1, 4, 5, 8, 9, 12, 13, 0, 0, 0, 0, 0, 0, 0, 0);
  return _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 0, 0, 0, 0);
}
QK_INLINE __m512i qk_vnni_order_back(const int vectors) {
  if (vectors == 1) return _mm512_setr_epi32(0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0);
  if (vectors == 2) return _mm512_setr_epi32(0, 1, 0, 0, 2, 3, 0, 0, 4, 5, 0, 0, 6, 7, 0, 0);
  return _mm512_setr_epi32(0, 1, 2, 0, 3, 4, 5, 0, 6, 7, 8, 0, 9, 10, 11, 0);
}

/* Up to 64 bytes of a row of a panel. */
QK_INLINE __m512i qk_vnni_load_bytes(const uint8_t* from, int32_t n, const int vectors) {
  const __mmask64 first = ~(__mmask64)0 >> (64 - n);
  if (vectors == 4 && n == 64) return _mm512_loadu_si512((const void*)from);
  return _mm512_maskz_loadu_epi8(first, from);
}
QK_INLINE void qk_vnni_store_bytes(uint8_t* to, __m512i v, int32_t n, const int vectors) {
  if (n != 16 * vectors) {
    _mm512_mask_storeu_epi8(to, ~(__mmask64)0 >> (64 - n), v);
  } else if (vectors == 4) {
    _mm512_storeu_si512((void*)to, v);
  } else {
    if (vectors >= 2) _mm256_storeu_si256((__m256i*)(void*)to, _mm512_castsi512_si256(v));
    if (vectors == 1) _mm_storeu_si128((__m128i*)(void*)to, _mm512_castsi512_si128(v));
    if (vectors == 3) {
      _mm_storeu_si128((__m128i*)(void*)(to + 32), _mm512_extracti32x4_epi32(v, 2));
    }
  }
}

/* Zero points of the outputs of vectors v and v + 1, as words in the order of packed numbers. */
QK_INLINE __m512i qk_vnni_zeros(const qk_ptile* t, const int v, const int vectors) {
  const __m512i a = _mm512_loadu_si512((const void*)(t->zeros + 16 * v));
  return _mm512_packs_epi32(
      a, v + 1 < vectors ? _mm512_loadu_si512((const void*)(t->zeros + 16 * (v + 1))) : a);
}

/* Four vectors of rounded numbers to bytes: plus the zero point, limited, in the panel's order. */
QK_INLINE void qk_vnni_store_codes(const qk_ptile* t, const __m512i* c, uint8_t* y,
                                   const int vectors) {
  const __m512i none = _mm512_setzero_si512();
  __m512i low = _mm512_packs_epi32(c[0], vectors > 1 ? c[1] : none), v;
  __m512i high = vectors > 2 ? _mm512_packs_epi32(c[2], vectors > 3 ? c[3] : none) : none;
  if (t->whole) {
    v = _mm512_packus_epi16(low, high);
  } else {
    const __m512i zero = _mm512_set1_epi16((int16_t)t->zero);
    low = _mm512_adds_epi16(low, t->zeros ? qk_vnni_zeros(t, 0, vectors) : zero);
    if (vectors > 2) {
      high = _mm512_adds_epi16(high, t->zeros ? qk_vnni_zeros(t, 2, vectors) : zero);
    }
    v = _mm512_packus_epi16(low, high);
    v = _mm512_max_epu8(v, _mm512_set1_epi8((char)t->lo));
    v = _mm512_min_epu8(v, _mm512_set1_epi8((char)t->hi));
    v = _mm512_xor_si512(v, _mm512_set1_epi8((char)t->flip));
  }
  if (vectors < 4) v = _mm512_permutexvar_epi32(qk_vnni_order(vectors), v);
  qk_vnni_store_bytes(y, v, t->columns, vectors);
}

/* Codes of a row. */
QK_INLINE void qk_vnni_codes(const qk_ptile* t, const __m512i* acc, uint8_t* y, const int vectors) {
  __m512i c[4];
  QK_EACH for (int v = 0; v < vectors; ++v) {
    __m512 f = _mm512_mul_ps(_mm512_cvtepi32_ps(acc[v]), _mm512_loadu_ps(t->multipliers + 16 * v));
    if (t->unbounded) {
      f = _mm512_max_ps(f, _mm512_set1_ps(t->least));
      f = _mm512_min_ps(f, _mm512_set1_ps(t->most));
    }
    c[v] = _mm512_cvtps_epi32(f);
  }
  qk_vnni_store_codes(t, c, y, vectors);
}

/* Codes of a row, added to those of the residual. */
QK_INLINE void qk_vnni_added(const qk_ptile* t, const __m512i* acc, const uint8_t* other,
                             uint8_t* y, const int vectors) {
  const __m512 least = _mm512_set1_ps(t->least), most = _mm512_set1_ps(t->most);
  const __m512 addend = _mm512_set1_ps(t->addend), other_zero = _mm512_set1_ps(t->other_zero);
  const __m512 rc = _mm512_set1_ps(t->code_ratio), ro = _mm512_set1_ps(t->other_ratio);
  __m512i bytes = qk_vnni_load_bytes(other, t->columns, vectors), c[4];
  bytes = _mm512_xor_si512(bytes, _mm512_set1_epi8((char)t->other_flip));
  if (vectors < 4) bytes = _mm512_permutexvar_epi32(qk_vnni_order_back(vectors), bytes);
  QK_EACH for (int v = 0; v < vectors; ++v) {
    const int b = 4 * v;
    const __m512i each = _mm512_set4_epi32(b + 3 - 256, b + 2 - 256, b + 1 - 256, b - 256);
    __m512 f = _mm512_mul_ps(_mm512_cvtepi32_ps(acc[v]), _mm512_loadu_ps(t->multipliers + 16 * v));
    __m512 o = _mm512_cvtepi32_ps(_mm512_shuffle_epi8(bytes, each));
    f = _mm512_min_ps(_mm512_max_ps(f, least), most);
    f = _mm512_roundscale_ps(f, 0);
    if (t->code_shift != 0.0f) f = _mm512_add_ps(f, _mm512_set1_ps(t->code_shift));
    if (t->other_zero != 0.0f) o = _mm512_sub_ps(o, other_zero);
    f = t->inner ? _mm512_fmadd_ps(o, ro, _mm512_fmadd_ps(f, rc, addend))
                 : _mm512_fmadd_ps(f, rc, _mm512_fmadd_ps(o, ro, addend));
    c[v] = _mm512_cvtps_epi32(f);
  }
  qk_vnni_store_codes(t, c, y, vectors);
}

/* Accumulators of vector v of a panel as they are or as floats. */
QK_INLINE __m512i qk_vnni_value(const qk_ptile* t, const int32_t* accumulators, int32_t v,
                                float x_scale, int32_t x_zero) {
  __m512i s = _mm512_loadu_si512((const void*)(accumulators + 16 * v));
  if (t->x_zeros) {
    const __m512i w = _mm512_loadu_si512((const void*)(t->weight_sums + 16 * v));
    s = _mm512_sub_epi32(s, _mm512_mullo_epi32(_mm512_set1_epi32(x_zero), w));
  }
  if (t->floats) {
    __m512 scale = _mm512_loadu_ps(t->multipliers + 16 * v), f;
    if (t->x_scales) scale = _mm512_mul_ps(_mm512_set1_ps(x_scale), scale);
    f = _mm512_mul_ps(_mm512_cvtepi32_ps(s), scale);
    /* Hidden, so that it does not become a fused product. */
    QK_VNNI_KEEP(f);
    if (t->float_bias) f = _mm512_add_ps(f, _mm512_loadu_ps(t->float_bias + 16 * v));
    s = _mm512_castps_si512(f);
  }
  return s;
}

/* The outputs of a whole panel of four vectors, whose lanes of four they have one after another. */
QK_INLINE void qk_vnni_store_panel(uint8_t* y, __m512i a, __m512i b, __m512i c, __m512i d) {
  const __m512i ab = _mm512_shuffle_i32x4(a, b, 0x44), ab_high = _mm512_shuffle_i32x4(a, b, 0xee);
  const __m512i cd = _mm512_shuffle_i32x4(c, d, 0x44), cd_high = _mm512_shuffle_i32x4(c, d, 0xee);
  _mm512_storeu_si512((void*)y, _mm512_shuffle_i32x4(ab, cd, 0x88));
  _mm512_storeu_si512((void*)(y + 64), _mm512_shuffle_i32x4(ab, cd, 0xdd));
  _mm512_storeu_si512((void*)(y + 128), _mm512_shuffle_i32x4(ab_high, cd_high, 0x88));
  _mm512_storeu_si512((void*)(y + 192), _mm512_shuffle_i32x4(ab_high, cd_high, 0xdd));
}

/* Accumulators of some rows as they are or as floats: [rows][vectors][16], to element `at` of y and
 * on. */
QK_SHARED void qk_vnni_plain(const qk_ptile* t, const int32_t* accumulators, int32_t row,
                             int32_t rows, int32_t vectors, uint8_t* y) {
  for (int32_t m = 0; m < rows; ++m, accumulators += 16 * vectors, y += 4 * t->y_row) {
    const float x_scale = t->x_scales ? t->x_scales[row + m] : 1.0f;
    const int32_t x_zero = t->x_zeros ? t->x_zeros[row + m] : 0;
    if (t->columns == 64) {
      qk_vnni_store_panel(y, qk_vnni_value(t, accumulators, 0, x_scale, x_zero),
                          qk_vnni_value(t, accumulators, 1, x_scale, x_zero),
                          qk_vnni_value(t, accumulators, 2, x_scale, x_zero),
                          qk_vnni_value(t, accumulators, 3, x_scale, x_zero));
      continue;
    }
    for (int32_t v = 0; v < vectors; ++v) {
      __m512i s = qk_vnni_value(t, accumulators, v, x_scale, x_zero);
      for (int32_t l = 0; l < 4; ++l, s = _mm512_shuffle_i32x4(s, s, 0x39)) {
        const int32_t n = 4 * (l * vectors + v), left = t->columns - n;
        const __m128i four = _mm512_castsi512_si128(s);
        if (left >= 4) {
          _mm_storeu_si128((__m128i*)(void*)(y + 4 * n), four);
        } else if (left > 0) {
          _mm_mask_storeu_epi32(y + 4 * n, (__mmask8)((1 << left) - 1), four);
        }
      }
    }
  }
}

/* Floats of a row of a whole panel of four vectors, whose zero point of x is part of the start. */
QK_INLINE void qk_vnni_floats(const qk_ptile* t, const __m512i* acc, const __m512* bias,
                              int32_t row, uint8_t* y) {
  __m512i s[4];
  QK_EACH for (int v = 0; v < 4; ++v) {
    __m512 scale = _mm512_loadu_ps(t->multipliers + 16 * v), f;
    if (t->x_scales) scale = _mm512_mul_ps(_mm512_set1_ps(t->x_scales[row]), scale);
    f = _mm512_mul_ps(_mm512_cvtepi32_ps(acc[v]), scale);
    QK_VNNI_KEEP(f);
    s[v] = _mm512_castps_si512(_mm512_add_ps(f, bias[v]));
  }
  qk_vnni_store_panel(y, s[0], s[1], s[2], s[3]);
}

/* Accumulators of a unit of inputs; rows are `step` bytes from each other. */
QK_INLINE void qk_vnni_step(__m512i* acc, const uint8_t* x, ptrdiff_t step, const int8_t* w,
                            const int rows, const int vectors) {
  __m512i wv[4];
  QK_EACH for (int v = 0; v < vectors; ++v) {
    wv[v] = _mm512_loadu_si512((const void*)(w + 64 * v));
    QK_VNNI_KEEP(wv[v]);
  }
  QK_EACH for (int m = 0; m < rows; ++m) {
    int32_t four;
    __m512i xv;
    memcpy(&four, x + m * step, 4);
    xv = _mm512_set1_epi32(four);
    QK_EACH for (int v = 0; v < vectors; ++v) {
      acc[m * vectors + v] = _mm512_dpbusd_epi32(acc[m * vectors + v], xv, wv[v]);
    }
  }
  QK_EACH for (int i = 0; i < rows * vectors; ++i) QK_VNNI_KEEP(acc[i]);
}

/* Accumulators of `units` whole units. Few accumulators at once wait for each other, so then two
 * units have their own. */
QK_INLINE void qk_vnni_units(__m512i* acc, const uint8_t* x, ptrdiff_t step, const int8_t* w,
                             int32_t units, const int rows, const int vectors) {
  if (rows * vectors <= 8) {
    __m512i more[8];
    QK_EACH for (int i = 0; i < rows * vectors; ++i) more[i] = _mm512_setzero_si512();
    for (; units > 1; units -= 2, x += 8, w += 128 * vectors) {
      qk_vnni_step(acc, x, step, w, rows, vectors);
      qk_vnni_step(more, x + 4, step, w + 64 * vectors, rows, vectors);
    }
    QK_EACH for (int i = 0; i < rows * vectors; ++i) acc[i] = _mm512_add_epi32(acc[i], more[i]);
  }
  QK_NOT_EACH for (; units > 0; --units, x += 4, w += 64 * vectors) {
    qk_vnni_step(acc, x, step, w, rows, vectors);
  }
}

/* n <= 4 of the `left` last bytes of a run of k, for each row, as one unit after `lead` bytes of 0.
 * Four bytes of the run are read at once where it has as many. */
QK_INLINE void qk_vnni_part(const uint8_t* x, ptrdiff_t x_row, int32_t rows, int32_t k,
                            int32_t left, int32_t lead, int32_t n, uint32_t* words) {
  const ptrdiff_t back = left >= 4 || k < 4 ? 0 : 4 - left;
  QK_NOT_EACH for (int32_t m = 0; m < rows; ++m, x += x_row) {
    uint32_t word = 0;
    if (k >= 4) {
      memcpy(&word, x - back, 4);
      word = word >> (8 * back) << (8 * lead);
    } else {
      QK_NOT_EACH for (int32_t i = 0; i < n; ++i) word |= (uint32_t)x[i] << (8 * (lead + i));
    }
    words[m] = word;
  }
}

/* Inputs of a run that are read: whole units where those of the last row lie in the input and what
 * fills up their weights is 0. */
QK_INLINE int32_t qk_vnni_inputs(const qk_ptile* t, const uint8_t* x, int32_t rows) {
  const int32_t whole = (t->k + 3) & ~3;
  ptrdiff_t last = (rows - 1) * t->x_row + whole;
  for (int i = 0; i < 3; ++i) last += (t->taps[i] > 0 ? t->taps[i] - 1 : 0) * t->x_tap[i];
  return t->lead == 0 && t->filled && last <= t->x_end - x ? whole : t->k;
}

/* Accumulators of one run of k inputs. */
QK_INLINE void qk_vnni_run(__m512i* acc, const qk_ptile* t, const uint8_t* x, const int8_t* w,
                           int32_t k, const int rows, const int vectors) {
  uint32_t words[16];
  int32_t lead = t->lead, left = k;
  while (left > 0) {
    const int32_t units = left >> 2;
    if (lead == 0 && units > 0) {
      qk_vnni_units(acc, x, t->x_row, w, units, rows, vectors);
      x += 4 * units;
      w += (ptrdiff_t)64 * vectors * units;
      left &= 3;
    } else {
      const int32_t n = left < 4 - lead ? left : 4 - lead;
      qk_vnni_part(x, t->x_row, rows, t->k, left, lead, n, words);
      qk_vnni_step(acc, (const uint8_t*)words, 4, w, rows, vectors);
      x += n;
      w += 64 * vectors;
      left -= n;
      lead = 0;
    }
  }
}

/* What becomes of the accumulators [rows][vectors][16] of a tile, the first of them element `at` of
 * y. They come through memory, so that one loop over rows serves all tiles; only large tiles make
 * plain codes of registers, which counts where there are few inputs. */
QK_INLINE void qk_vnni_finish_of(const qk_ptile* t, const int32_t* accumulators, int32_t row,
                                 int32_t rows, uint8_t* y, ptrdiff_t at, const int vectors) {
  if (t->path == QK_PTILE_PLAIN) {
    qk_vnni_plain(t, accumulators, row, rows, vectors, y + 4 * at);
    return;
  }
  QK_NOT_EACH for (int32_t m = 0; m < rows; ++m, accumulators += 16 * vectors, at += t->y_row) {
    __m512i acc[4];
    QK_EACH for (int v = 0; v < vectors; ++v) {
      acc[v] = _mm512_loadu_si512((const void*)(accumulators + 16 * v));
    }
    if (t->path == QK_PTILE_ADDED) {
      qk_vnni_added(t, acc, t->residual + at, y + at, vectors);
    } else {
      qk_vnni_codes(t, acc, y + at, vectors);
    }
  }
}
#define QK_VNNI_FINISH(V)                                                                        \
  QK_SHARED void qk_vnni_finish_##V(const qk_ptile* t, const int32_t* accumulators, int32_t row, \
                                    int32_t rows, uint8_t* y, ptrdiff_t at) {                    \
    qk_vnni_finish_of(t, accumulators, row, rows, y, at, V);                                     \
  }
QK_VNNI_FINISH(1)
QK_VNNI_FINISH(2)
QK_VNNI_FINISH(3)
QK_VNNI_FINISH(4)

QK_INLINE void qk_vnni_tile_of(const qk_ptile* t, int32_t row, const uint8_t* x, const int8_t* w,
                               uint8_t* y, ptrdiff_t at, const int rows, const int vectors) {
  __m512i acc[24];
  int32_t accumulators[24 * 16];
  QK_EACH for (int v = 0; v < vectors; ++v) {
    const __m512i start = _mm512_loadu_si512((const void*)(t->start + 16 * v));
    QK_EACH for (int m = 0; m < rows; ++m) acc[m * vectors + v] = start;
  }
  if (t->row_start) {
    QK_EACH for (int m = 0; m < rows; ++m) {
      const __m512i start = _mm512_set1_epi32(t->row_start[row + m]);
      QK_EACH for (int v = 0; v < vectors; ++v) {
        acc[m * vectors + v] = _mm512_add_epi32(acc[m * vectors + v], start);
      }
    }
  }
  const int32_t k = qk_vnni_inputs(t, x, rows);
  for (int32_t a = 0; a < t->taps[0]; ++a) {
    for (int32_t b = 0; b < t->taps[1]; ++b) {
      for (int32_t c = 0; c < t->taps[2]; ++c) {
        qk_vnni_run(acc, t, x + (a * t->x_tap[0] + b * t->x_tap[1] + c * t->x_tap[2]),
                    w + (a * t->w_tap[0] + b * t->w_tap[1] + c * t->w_tap[2]), k, rows, vectors);
      }
    }
  }
  if (rows * vectors >= 16 && t->path == QK_PTILE_CODES) {
    QK_EACH for (int m = 0; m < rows; ++m) {
      qk_vnni_codes(t, acc + m * vectors, y + at + m * t->y_row, vectors);
    }
    return;
  }
  if (rows == 6 && vectors == 4 && t->floats && t->columns == 64 && !t->x_zeros) {
    __m512 bias[4]; /* adding -0 changes nothing */
    QK_EACH for (int v = 0; v < 4; ++v) {
      bias[v] = t->float_bias ? _mm512_loadu_ps(t->float_bias + 16 * v) : _mm512_set1_ps(-0.0f);
    }
    QK_EACH for (int m = 0; m < rows; ++m) {
      qk_vnni_floats(t, acc + m * 4, bias, row + m, y + 4 * (at + m * t->y_row));
    }
    return;
  }
  QK_EACH for (int i = 0; i < rows * vectors; ++i) {
    _mm512_storeu_si512((void*)(accumulators + 16 * i), acc[i]);
  }
  if (vectors == 4) qk_vnni_finish_4(t, accumulators, row, rows, y, at);
  if (vectors == 3) qk_vnni_finish_3(t, accumulators, row, rows, y, at);
  if (vectors == 2) qk_vnni_finish_2(t, accumulators, row, rows, y, at);
  if (vectors == 1) qk_vnni_finish_1(t, accumulators, row, rows, y, at);
}

#define QK_VNNI_TILE(M, V)                                                                \
  QK_SHARED void qk_vnni_tile_##M##x##V(const qk_ptile* t, int32_t row, const uint8_t* x, \
                                        const int8_t* w, uint8_t* y, ptrdiff_t at) {      \
    qk_vnni_tile_of(t, row, x, w, y, at, M, V);                                           \
  }
QK_VNNI_TILE(6, 4)
QK_VNNI_TILE(5, 4)
QK_VNNI_TILE(4, 4)
QK_VNNI_TILE(3, 4)
QK_VNNI_TILE(2, 4)
QK_VNNI_TILE(1, 4)
QK_VNNI_TILE(8, 3)
QK_VNNI_TILE(6, 3)
QK_VNNI_TILE(4, 3)
QK_VNNI_TILE(2, 3)
QK_VNNI_TILE(1, 3)
QK_VNNI_TILE(12, 2)
QK_VNNI_TILE(6, 2)
QK_VNNI_TILE(4, 2)
QK_VNNI_TILE(2, 2)
QK_VNNI_TILE(1, 2)
QK_VNNI_TILE(16, 1)
QK_VNNI_TILE(8, 1)
QK_VNNI_TILE(4, 1)
QK_VNNI_TILE(2, 1)
QK_VNNI_TILE(1, 1)

/* How many of `left` rows the next tile has: the most that fit, but the last two alike rather than
 * a large and a small one. */
QK_INLINE int32_t qk_vnni_rows_next(int32_t left, const int vectors) {
  const int32_t most = vectors == 4 ? 6 : vectors == 3 ? 8 : vectors == 2 ? 12 : 16;
  const int32_t rows = left >= 2 * most || left == most ? most
                       : left > most                    ? (left + 1) / 2
                                                        : left;
  if (vectors == 4) return rows;
  if (vectors == 3) return rows >= 7 && left >= 8 ? 8 : rows >= 5 && left >= 6 ? 6 : rows;
  if (vectors == 2) return rows > 6 && left >= 12 ? 12 : rows >= 5 && left >= 6 ? 6 : rows;
  return rows;
}

/* One tile; returns its rows. */
#define QK_VNNI_CASE(M, V)                       \
  if (rows >= M) {                               \
    qk_vnni_tile_##M##x##V(t, row, x, w, y, at); \
    return M;                                    \
  }
QK_INLINE int32_t qk_vnni_tile_next(const qk_ptile* t, int32_t row, const uint8_t* x,
                                    const int8_t* w, uint8_t* y, ptrdiff_t at, int32_t left,
                                    const int vectors) {
  const int32_t rows = qk_vnni_rows_next(left, vectors);
  if (vectors == 4) {
    QK_VNNI_CASE(6, 4)
    QK_VNNI_CASE(5, 4)
    QK_VNNI_CASE(4, 4)
    QK_VNNI_CASE(3, 4)
    QK_VNNI_CASE(2, 4)
    QK_VNNI_CASE(1, 4)
  } else if (vectors == 3) {
    QK_VNNI_CASE(8, 3)
    QK_VNNI_CASE(6, 3)
    QK_VNNI_CASE(4, 3)
    QK_VNNI_CASE(2, 3)
    QK_VNNI_CASE(1, 3)
  } else if (vectors == 2) {
    QK_VNNI_CASE(12, 2)
    QK_VNNI_CASE(6, 2)
    QK_VNNI_CASE(4, 2)
    QK_VNNI_CASE(2, 2)
    QK_VNNI_CASE(1, 2)
  }
  QK_VNNI_CASE(16, 1)
  QK_VNNI_CASE(8, 1)
  QK_VNNI_CASE(4, 1)
  QK_VNNI_CASE(2, 1)
  QK_VNNI_CASE(1, 1)
  return left;
}

/* `rows` rows of a panel, the first of them element `at` of y. */
QK_INLINE void qk_ptile_rows(const qk_ptile* t, const uint8_t* x, const int8_t* w, uint8_t* y,
                             ptrdiff_t at, int32_t rows, int32_t vectors) {
  for (int32_t row = 0; row < rows;) {
    const uint8_t* xr = x + row * t->x_row;
    const ptrdiff_t to = at + row * t->y_row;
    const int32_t left = rows - row;
    row += vectors == 4   ? qk_vnni_tile_next(t, row, xr, w, y, to, left, 4)
           : vectors == 3 ? qk_vnni_tile_next(t, row, xr, w, y, to, left, 3)
           : vectors == 2 ? qk_vnni_tile_next(t, row, xr, w, y, to, left, 2)
                          : qk_vnni_tile_next(t, row, xr, w, y, to, left, 1);
  }
}

/* The sum of k codes. */
QK_INLINE int32_t qk_ptile_sum(const uint8_t* x, int32_t k) {
  __m512i sum = _mm512_setzero_si512();
  for (int32_t i = 0; i < k; i += 64) {
    const __mmask64 inside = k - i < 64 ? ((__mmask64)1 << (k - i)) - 1 : ~(__mmask64)0;
    sum = _mm512_dpbusd_epi32(sum, _mm512_maskz_loadu_epi8(inside, x + i), _mm512_set1_epi8(1));
  }
  return _mm512_reduce_add_epi32(sum);
}

/* Takes off the start of a panel's accumulators: the zero point of x times the weights' sums of a
 * tap. */
QK_INLINE void qk_ptile_less(int32_t* start, const int32_t* weight_sums, int32_t zero,
                             int32_t vectors) {
  const __m512i z = _mm512_set1_epi32(zero);
  for (int32_t i = 0; i < 16 * vectors; i += 16) {
    const __m512i w = _mm512_loadu_si512((const void*)(weight_sums + i));
    const __m512i s = _mm512_loadu_si512((const void*)(start + i));
    _mm512_storeu_si512((void*)(start + i), _mm512_sub_epi32(s, _mm512_mullo_epi32(z, w)));
  }
}

#endif
