/* The tile of every dense product of u8 and s8 with AVX2: some rows by one panel of 1 or 2 vectors
 * of 8 outputs (kernels/qtile/pack.h), all accumulators in registers. Products are those of pairs
 * of 16 bits, vpmaddwd, which is exact; accumulators are exact modulo 2^32.
 *
 * A row is one output pixel or one row of a matrix; its products are runs of k neighbouring
 * inputs, some of which are widened at a time. The zero point of x is part of the accumulators'
 * start. No byte outside the runs is read.
 *
 * Needs avx2 and fma. Stack: at most 3 KiB. */
#ifndef QK_QTILE_AVX2_TILE_H
#define QK_QTILE_AVX2_TILE_H

#include <immintrin.h>

#include "kernels/common/shared.h"
#include "kernels/common/unroll.h"
#include "kernels/qtile/packed.h"

#define QK_PTILE_PANELS QK_PANELS_AVX2
#define QK_PTILE_LANES 8
#define QK_PTILE_UNIT 2
#define QK_PTILE_SHIFT 0

/* gcc spills accumulators, or reads weights once per product, unless each is named in every step.
 */
#if defined(__GNUC__) && !defined(__clang__)
#define QK_AVX2_KEEP(v) __asm__("" : "+x"(v))
#else
#define QK_AVX2_KEEP(v) ((void)0)
#endif

/* Inputs of a row that are widened at a time, and the room for them. */
#define QK_AVX2_CHUNK 64
#define QK_AVX2_ROOM (QK_AVX2_CHUNK + 16)

/* n <= 16 bytes; the others are 0. */
QK_INLINE __m128i qk_avx2_load_bytes(const uint8_t* from, int32_t n) {
  uint64_t low = 0, high = 0;
  if (n == 16) return _mm_loadu_si128((const __m128i*)(const void*)from);
  if (n >= 8) {
    memcpy(&low, from, 8);
    memcpy(&high, from + n - 8, 8);
    high = n == 8 ? 0 : high >> (8 * (16 - n));
  } else if (n >= 4) {
    uint32_t first, last;
    memcpy(&first, from, 4);
    memcpy(&last, from + n - 4, 4);
    low = (uint64_t)last << (8 * (n - 4)) | first;
  } else {
    QK_NOT_EACH for (int32_t i = 0; i < n; ++i) low |= (uint64_t)from[i] << (8 * i);
  }
  return _mm_set_epi64x((long long)high, (long long)low);
}
QK_INLINE void qk_avx2_store_bytes(uint8_t* to, __m128i v, int32_t n) {
  uint8_t some[16];
  if (n == 16) {
    _mm_storeu_si128((__m128i*)(void*)to, v);
  } else if (n == 8) {
    _mm_storel_epi64((__m128i*)(void*)to, v);
  } else {
    _mm_storeu_si128((__m128i*)(void*)some, v);
    QK_NOT_EACH for (int32_t i = 0; i < n; ++i) to[i] = some[i];
  }
}

/* Zero points of the outputs, as words in the order of packed numbers. */
QK_INLINE __m256i qk_avx2_zeros(const qk_ptile* t, const int vectors) {
  const __m256i a = _mm256_loadu_si256((const __m256i*)(const void*)t->zeros);
  return _mm256_packs_epi32(
      a, vectors > 1 ? _mm256_loadu_si256((const __m256i*)(const void*)(t->zeros + 8)) : a);
}

/* One or two vectors of rounded numbers to bytes: plus the zero point, limited. */
QK_INLINE void qk_avx2_store_codes(const qk_ptile* t, __m256i a, __m256i b, uint8_t* y,
                                   const int vectors) {
  const __m256i zero = t->zeros ? qk_avx2_zeros(t, vectors) : _mm256_set1_epi16((int16_t)t->zero);
  const __m256i words = _mm256_adds_epi16(_mm256_packs_epi32(a, vectors > 1 ? b : a), zero);
  const __m256i bytes = _mm256_packus_epi16(words, words);
  __m128i v = vectors > 1 ? _mm256_castsi256_si128(_mm256_permute4x64_epi64(bytes, 0x08))
                          : _mm_unpacklo_epi32(_mm256_castsi256_si128(bytes),
                                               _mm256_extracti128_si256(bytes, 1));
  v = _mm_max_epu8(v, _mm_set1_epi8((char)t->lo));
  v = _mm_min_epu8(v, _mm_set1_epi8((char)t->hi));
  v = _mm_xor_si128(v, _mm_set1_epi8((char)t->flip));
  qk_avx2_store_bytes(y, v, t->columns);
}

/* The number whose rounding is a code less its zero point. */
QK_INLINE __m256 qk_avx2_scaled(const qk_ptile* t, __m256i acc, int v, int limited) {
  __m256 f = _mm256_mul_ps(_mm256_cvtepi32_ps(acc), _mm256_loadu_ps(t->multipliers + 8 * v));
  if (limited) {
    f = _mm256_max_ps(f, _mm256_set1_ps(t->least));
    f = _mm256_min_ps(f, _mm256_set1_ps(t->most));
  }
  return f;
}

/* Codes of a row. */
QK_INLINE void qk_avx2_codes(const qk_ptile* t, const __m256i* acc, uint8_t* y, const int vectors) {
  const __m256i a = _mm256_cvtps_epi32(qk_avx2_scaled(t, acc[0], 0, t->unbounded));
  const __m256i b =
      vectors > 1 ? _mm256_cvtps_epi32(qk_avx2_scaled(t, acc[1], 1, t->unbounded)) : a;
  qk_avx2_store_codes(t, a, b, y, vectors);
}

/* Codes of a vector, added to the residual's, which are the low 8 of `other`. */
QK_INLINE __m256i qk_avx2_sum(const qk_ptile* t, __m256i acc, int v, __m128i other) {
  const __m256 addend = _mm256_set1_ps(t->addend);
  const __m256 rc = _mm256_set1_ps(t->code_ratio), ro = _mm256_set1_ps(t->other_ratio);
  __m256 f =
      _mm256_round_ps(qk_avx2_scaled(t, acc, v, 1), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m256 o = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(other));
  f = _mm256_add_ps(f, _mm256_set1_ps(t->code_shift));
  o = _mm256_sub_ps(o, _mm256_set1_ps(t->other_zero));
  return _mm256_cvtps_epi32(t->inner ? _mm256_fmadd_ps(o, ro, _mm256_fmadd_ps(f, rc, addend))
                                     : _mm256_fmadd_ps(f, rc, _mm256_fmadd_ps(o, ro, addend)));
}

/* Codes of a row, added to those of the residual. */
QK_INLINE void qk_avx2_added(const qk_ptile* t, const __m256i* acc, const uint8_t* other,
                             uint8_t* y, const int vectors) {
  __m128i bytes = qk_avx2_load_bytes(other, t->columns);
  __m256i a, b;
  bytes = _mm_xor_si128(bytes, _mm_set1_epi8((char)t->other_flip));
  if (vectors > 1) bytes = _mm_shuffle_epi32(bytes, 0xd8);
  a = b = qk_avx2_sum(t, acc[0], 0, bytes);
  if (vectors > 1) b = qk_avx2_sum(t, acc[1], 1, _mm_srli_si128(bytes, 8));
  qk_avx2_store_codes(t, a, b, y, vectors);
}

/* Accumulators of some rows as they are or as floats: [rows][vectors][8], to y and on. */
QK_SHARED void qk_avx2_plain(const qk_ptile* t, const int32_t* accumulators, int32_t row,
                             int32_t rows, int32_t vectors, uint8_t* y) {
  for (int32_t m = 0; m < rows; ++m, y += 4 * t->y_row) {
    const float x_scale = t->x_scales ? t->x_scales[row + m] : 1.0f;
    const __m256i zero = _mm256_set1_epi32(t->x_zeros ? t->x_zeros[row + m] : 0);
    for (int32_t v = 0; v < vectors; ++v, accumulators += 8) {
      __m256i s = _mm256_loadu_si256((const __m256i*)(const void*)accumulators);
      if (t->x_zeros) {
        const __m256i w = _mm256_loadu_si256((const __m256i*)(const void*)(t->weight_sums + 8 * v));
        s = _mm256_sub_epi32(s, _mm256_mullo_epi32(zero, w));
      }
      if (t->floats) {
        __m256 scale = _mm256_loadu_ps(t->multipliers + 8 * v), f;
        if (t->x_scales) scale = _mm256_mul_ps(_mm256_set1_ps(x_scale), scale);
        f = _mm256_mul_ps(_mm256_cvtepi32_ps(s), scale);
        /* Hidden, so that it does not become a fused product. */
        QK_AVX2_KEEP(f);
        if (t->float_bias) f = _mm256_add_ps(f, _mm256_loadu_ps(t->float_bias + 8 * v));
        s = _mm256_castps_si256(f);
      }
      for (int32_t l = 0; l < 2; ++l, s = _mm256_permute2x128_si256(s, s, 1)) {
        const int32_t n = 4 * (l * vectors + v), left = t->columns - n;
        int32_t four[4];
        if (left >= 4) {
          _mm_storeu_si128((__m128i*)(void*)(y + 4 * n), _mm256_castsi256_si128(s));
        } else if (left > 0) {
          _mm_storeu_si128((__m128i*)(void*)four, _mm256_castsi256_si128(s));
          memcpy(y + 4 * n, four, 4 * (size_t)left);
        }
      }
    }
  }
}

/* n < 16 bytes that 16 - n readable ones lie before; the others are 0. */
QK_INLINE __m128i qk_avx2_load_last(const uint8_t* from, int32_t n) {
  static const int8_t move[32] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                  -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
  const __m128i bytes = _mm_loadu_si128((const __m128i*)(const void*)(from + n - 16));
  return _mm_shuffle_epi8(bytes, _mm_loadu_si128((const __m128i*)(const void*)(move + 16 - n)));
}

/* QK_AVX2_CHUNK inputs of each row as numbers of 16 bits. */
QK_INLINE void qk_avx2_widen_chunk(const uint8_t* x, ptrdiff_t x_row, int32_t rows, int16_t* to) {
  QK_NOT_EACH for (int32_t m = 0; m < rows; ++m, x += x_row, to += QK_AVX2_ROOM) {
    QK_EACH for (int32_t i = 0; i < QK_AVX2_CHUNK; i += 16) {
      const __m128i bytes = _mm_loadu_si128((const __m128i*)(const void*)(x + i));
      _mm256_storeu_si256((__m256i*)(void*)(to + i), _mm256_cvtepu8_epi16(bytes));
    }
  }
}
/* n <= QK_AVX2_CHUNK - lead inputs of each row as numbers of 16 bits after `lead` zeros; what fills
 * up the last pair is 0. */
QK_INLINE void qk_avx2_widen(const uint8_t* x, ptrdiff_t x_row, int32_t rows, int32_t lead,
                             int32_t n, int16_t* to) {
  const int32_t whole = n & ~15, rest = n & 15;
  QK_NOT_EACH for (int32_t m = 0; m < rows; ++m, x += x_row, to += QK_AVX2_ROOM) {
    if (lead) to[0] = 0;
    QK_NOT_EACH for (int32_t i = 0; i < whole; i += 16) {
      const __m128i bytes = _mm_loadu_si128((const __m128i*)(const void*)(x + i));
      _mm256_storeu_si256((__m256i*)(void*)(to + lead + i), _mm256_cvtepu8_epi16(bytes));
    }
    if (rest) {
      const __m128i bytes =
          whole ? qk_avx2_load_last(x + whole, rest) : qk_avx2_load_bytes(x, rest);
      _mm256_storeu_si256((__m256i*)(void*)(to + lead + whole), _mm256_cvtepu8_epi16(bytes));
    } else if (lead) {
      to[lead + n] = 0;
    }
  }
}

/* Accumulators of `units` pairs of widened inputs. */
QK_INLINE void qk_avx2_units(__m256i* acc, const int16_t* x, const int8_t* w, int32_t units,
                             const int rows, const int vectors) {
  QK_NOT_EACH for (; units > 0; --units, x += 2, w += 16 * vectors) {
    __m256i wv[2];
    QK_EACH for (int v = 0; v < vectors; ++v) {
      wv[v] = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i*)(const void*)(w + 16 * v)));
      QK_AVX2_KEEP(wv[v]);
    }
    QK_EACH for (int m = 0; m < rows; ++m) {
      int32_t pair;
      __m256i xv;
      memcpy(&pair, x + m * QK_AVX2_ROOM, 4);
      xv = _mm256_set1_epi32(pair);
      QK_EACH for (int v = 0; v < vectors; ++v) {
        __m256i* sum = acc + m * vectors + v;
        *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(xv, wv[v]));
      }
    }
    QK_EACH for (int i = 0; i < rows * vectors; ++i) QK_AVX2_KEEP(acc[i]);
  }
}

/* Accumulators of one run. */
QK_INLINE void qk_avx2_run(__m256i* acc, const qk_ptile* t, const uint8_t* x, const int8_t* w,
                           int16_t* widened, const int rows, const int vectors) {
  int32_t lead = t->lead, left = t->k;
  while (left > 0) {
    const int32_t room = QK_AVX2_CHUNK - lead, n = left < room ? left : room;
    const int32_t units = (lead + n + 1) / 2;
    if (n == QK_AVX2_CHUNK) {
      qk_avx2_widen_chunk(x, t->x_row, rows, widened);
    } else {
      qk_avx2_widen(x, t->x_row, rows, lead, n, widened);
    }
    qk_avx2_units(acc, widened, w, units, rows, vectors);
    x += n;
    w += (ptrdiff_t)16 * vectors * units;
    left -= n;
    lead = 0;
  }
}

QK_INLINE void qk_avx2_tile_of(const qk_ptile* t, int32_t row, const uint8_t* x, const int8_t* w,
                               uint8_t* y, ptrdiff_t at, const int rows, const int vectors) {
  __m256i acc[12];
  union {
    __m256i aligned; /* stores of whole vectors do not cross cache lines */
    int16_t widened[8 * QK_AVX2_ROOM];
    int32_t accumulators[12 * 8];
  } u;
  QK_EACH for (int v = 0; v < vectors; ++v) {
    const __m256i start = _mm256_loadu_si256((const __m256i*)(const void*)(t->start + 8 * v));
    QK_EACH for (int m = 0; m < rows; ++m) acc[m * vectors + v] = start;
  }
  if (t->row_start) {
    QK_EACH for (int m = 0; m < rows; ++m) {
      const __m256i start = _mm256_set1_epi32(t->row_start[row + m]);
      QK_EACH for (int v = 0; v < vectors; ++v) {
        acc[m * vectors + v] = _mm256_add_epi32(acc[m * vectors + v], start);
      }
    }
  }
  for (int32_t a = 0; a < t->taps[0]; ++a) {
    for (int32_t b = 0; b < t->taps[1]; ++b) {
      for (int32_t c = 0; c < t->taps[2]; ++c) {
        qk_avx2_run(acc, t, x + (a * t->x_tap[0] + b * t->x_tap[1] + c * t->x_tap[2]),
                    w + (a * t->w_tap[0] + b * t->w_tap[1] + c * t->w_tap[2]), u.widened, rows,
                    vectors);
      }
    }
  }
  if (t->path == QK_PTILE_CODES) {
    QK_EACH for (int m = 0; m < rows; ++m) {
      qk_avx2_codes(t, acc + m * vectors, y + at + m * t->y_row, vectors);
    }
  } else if (t->path == QK_PTILE_ADDED) {
    QK_EACH for (int m = 0; m < rows; ++m) {
      qk_avx2_added(t, acc + m * vectors, t->residual + at + m * t->y_row, y + at + m * t->y_row,
                    vectors);
    }
  } else {
    QK_EACH for (int i = 0; i < rows * vectors; ++i) {
      _mm256_storeu_si256((__m256i*)(void*)(u.accumulators + 8 * i), acc[i]);
    }
    qk_avx2_plain(t, u.accumulators, row, rows, vectors, y + 4 * at);
  }
}

#define QK_AVX2_TILE(M, V)                                                                \
  QK_SHARED void qk_avx2_tile_##M##x##V(const qk_ptile* t, int32_t row, const uint8_t* x, \
                                        const int8_t* w, uint8_t* y, ptrdiff_t at) {      \
    qk_avx2_tile_of(t, row, x, w, y, at, M, V);                                           \
  }
QK_AVX2_TILE(6, 2)
QK_AVX2_TILE(4, 2)
QK_AVX2_TILE(3, 2)
QK_AVX2_TILE(2, 2)
QK_AVX2_TILE(1, 2)
QK_AVX2_TILE(8, 1)
QK_AVX2_TILE(4, 1)
QK_AVX2_TILE(2, 1)
QK_AVX2_TILE(1, 1)

/* One tile of the `left` rows; returns its rows. Of two vectors, the last tiles are alike rather
 * than a large and a small one. */
#define QK_AVX2_CASE(M, V)                       \
  if (rows >= M) {                               \
    qk_avx2_tile_##M##x##V(t, row, x, w, y, at); \
    return M;                                    \
  }
QK_INLINE int32_t qk_avx2_tile_next(const qk_ptile* t, int32_t row, const uint8_t* x,
                                    const int8_t* w, uint8_t* y, ptrdiff_t at, int32_t left,
                                    const int vectors) {
  if (vectors == 2) {
    const int32_t rows = left == 7 || left == 8 ? 4 : left;
    QK_AVX2_CASE(6, 2)
    QK_AVX2_CASE(4, 2)
    QK_AVX2_CASE(3, 2)
    QK_AVX2_CASE(2, 2)
    QK_AVX2_CASE(1, 2)
  } else {
    const int32_t rows = left;
    QK_AVX2_CASE(8, 1)
    QK_AVX2_CASE(4, 1)
    QK_AVX2_CASE(2, 1)
    QK_AVX2_CASE(1, 1)
  }
  return left;
}

/* `rows` rows of a panel, the first of them element `at` of y. */
QK_INLINE void qk_ptile_rows(const qk_ptile* t, const uint8_t* x, const int8_t* w, uint8_t* y,
                             ptrdiff_t at, int32_t rows, int32_t vectors) {
  for (int32_t row = 0; row < rows;) {
    const uint8_t* xr = x + row * t->x_row;
    const ptrdiff_t to = at + row * t->y_row;
    const int32_t left = rows - row;
    row += vectors == 2 ? qk_avx2_tile_next(t, row, xr, w, y, to, left, 2)
                        : qk_avx2_tile_next(t, row, xr, w, y, to, left, 1);
  }
}

/* The sum of k codes. */
QK_INLINE int32_t qk_ptile_sum(const uint8_t* x, int32_t k) {
  const __m256i none = _mm256_setzero_si256();
  __m256i four = none;
  int32_t i = 0, sum = 0;
  for (; i + 32 <= k; i += 32) {
    const __m256i codes = _mm256_loadu_si256((const __m256i*)(const void*)(x + i));
    four = _mm256_add_epi64(four, _mm256_sad_epu8(codes, none));
  }
  {
    int64_t lanes[4];
    _mm256_storeu_si256((__m256i*)(void*)lanes, four);
    sum = (int32_t)(lanes[0] + lanes[1] + lanes[2] + lanes[3]);
  }
  for (; i < k; ++i) sum += x[i];
  return sum;
}

/* Takes off the start of a panel's accumulators: the zero point of x times the weights' sums of a
 * tap. */
QK_INLINE void qk_ptile_less(int32_t* start, const int32_t* weight_sums, int32_t zero,
                             int32_t vectors) {
  const __m256i z = _mm256_set1_epi32(zero);
  for (int32_t i = 0; i < 8 * vectors; i += 8) {
    const __m256i w = _mm256_loadu_si256((const __m256i*)(const void*)(weight_sums + i));
    const __m256i s = _mm256_loadu_si256((const __m256i*)(const void*)(start + i));
    _mm256_storeu_si256((__m256i*)(void*)(start + i),
                        _mm256_sub_epi32(s, _mm256_mullo_epi32(z, w)));
  }
}

#endif
