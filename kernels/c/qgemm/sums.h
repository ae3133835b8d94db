/* Sixteen 32-bit sums at once, each of products of pairs of 16-bit numbers. Sums wrap, so that what
 * is proved to fit when a sum is complete need not fit on the way. */
#ifndef QK_SUMS_H
#define QK_SUMS_H

#include <string.h>

#include "kernels/c/shared.h"
#include "kernels/c/vec16.h"

#if defined(__GNUC__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#define QK_SUMS_REGISTERS 1
#elif defined(__GNUC__) && defined(__AVX2__)
#define QK_SUMS_REGISTERS 2
#include <immintrin.h>
#else
#define QK_SUMS_REGISTERS 0
#endif

/* Two 16-bit numbers as one of 32 bits. */
QK_INLINE int32_t qk_pair(const int16_t* x) {
  int32_t pair;
  memcpy(&pair, x, 4);
  return pair;
}

#if QK_SUMS_REGISTERS == 1

typedef __m512i qk_sums;  /* 16 sums */
typedef __m512i qk_pairs; /* 16 pairs */

QK_INLINE void qk_sums_load(qk_sums* v, const int32_t* p) {
  *v = _mm512_loadu_si512((const void*)p);
}
QK_INLINE void qk_sums_store(int32_t* p, const qk_sums* v) { _mm512_storeu_si512((void*)p, *v); }
QK_INLINE qk_pairs qk_pairs_load(const int8_t* p) {
  return _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i*)(const void*)p));
}
/* acc + x[0] * w[2j] + x[1] * w[2j + 1] for each j. */
QK_INLINE void qk_sums_dot(qk_sums* acc, qk_pairs w, const int16_t* x) {
  const __m512i xv = _mm512_set1_epi32(qk_pair(x));
#if defined(__AVX512VNNI__)
  *acc = _mm512_dpwssd_epi32(*acc, w, xv);
#else
  *acc = _mm512_add_epi32(*acc, _mm512_madd_epi16(w, xv));
#endif
}
/* Sixteen weights, each with 0 as the other half of its pair. */
QK_INLINE qk_pairs qk_pairs_load_each(const int8_t* p) {
  const __m128i bytes = _mm_loadu_si128((const __m128i*)(const void*)p);
  return _mm512_cvtepu16_epi32(_mm256_cvtepi8_epi16(bytes));
}
/* acc + (x[j] - zero) * w[j] for each j, x codes of 8 bits. */
QK_INLINE void qk_sums_each(qk_sums* acc, qk_pairs w, const void* x, int32_t x_signed,
                            int32_t zero) {
  const __m128i bytes = _mm_loadu_si128((const __m128i*)x);
  const __m512i codes = x_signed ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes);
  const __m512i xv = _mm512_sub_epi32(codes, _mm512_set1_epi32(zero));
#if defined(__AVX512VNNI__)
  *acc = _mm512_dpwssd_epi32(*acc, w, xv);
#else
  *acc = _mm512_add_epi32(*acc, _mm512_madd_epi16(w, xv));
#endif
}
#if defined(__clang__)
#define QK_SUMS_KEEP(v) ((void)0)
#else
#define QK_SUMS_KEEP(v) __asm__("" : "+v"(v))
#endif

#elif QK_SUMS_REGISTERS == 2

typedef struct qk_sums {
  __m256i a, b;
} qk_sums;
typedef struct qk_pairs {
  __m256i a, b;
} qk_pairs;

QK_INLINE void qk_sums_load(qk_sums* v, const int32_t* p) {
  v->a = _mm256_loadu_si256((const __m256i*)(const void*)p);
  v->b = _mm256_loadu_si256((const __m256i*)(const void*)(p + 8));
}
QK_INLINE void qk_sums_store(int32_t* p, const qk_sums* v) {
  _mm256_storeu_si256((__m256i*)(void*)p, v->a);
  _mm256_storeu_si256((__m256i*)(void*)(p + 8), v->b);
}
QK_INLINE qk_pairs qk_pairs_load(const int8_t* p) {
  const qk_pairs v = {_mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i*)(const void*)p)),
                      _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i*)(const void*)(p + 16)))};
  return v;
}
QK_INLINE void qk_sums_dot(qk_sums* acc, qk_pairs w, const int16_t* x) {
  const __m256i xv = _mm256_set1_epi32(qk_pair(x));
  acc->a = _mm256_add_epi32(acc->a, _mm256_madd_epi16(w.a, xv));
  acc->b = _mm256_add_epi32(acc->b, _mm256_madd_epi16(w.b, xv));
}
QK_INLINE qk_pairs qk_pairs_load_each(const int8_t* p) {
  const __m256i w = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i*)(const void*)p));
  const qk_pairs v = {_mm256_cvtepu16_epi32(_mm256_castsi256_si128(w)),
                      _mm256_cvtepu16_epi32(_mm256_extracti128_si256(w, 1))};
  return v;
}
QK_INLINE void qk_sums_each(qk_sums* acc, qk_pairs w, const void* x, int32_t x_signed,
                            int32_t zero) {
  const __m128i bytes = _mm_loadu_si128((const __m128i*)x), rest = _mm_srli_si128(bytes, 8);
  const __m256i z = _mm256_set1_epi32(zero);
  const __m256i a = x_signed ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes);
  const __m256i b = x_signed ? _mm256_cvtepi8_epi32(rest) : _mm256_cvtepu8_epi32(rest);
  acc->a = _mm256_add_epi32(acc->a, _mm256_madd_epi16(w.a, _mm256_sub_epi32(a, z)));
  acc->b = _mm256_add_epi32(acc->b, _mm256_madd_epi16(w.b, _mm256_sub_epi32(b, z)));
}
#if defined(__clang__)
#define QK_SUMS_KEEP(v) ((void)0)
#else
#define QK_SUMS_KEEP(v) __asm__("" : "+x"((v).a), "+x"((v).b))
#endif

#else

typedef struct qk_sums {
  uint32_t s[16];
} qk_sums;
typedef struct qk_pairs {
  const int8_t* w;
} qk_pairs;

QK_INLINE void qk_sums_load(qk_sums* v, const int32_t* p) {
  for (int j = 0; j < 16; ++j) v->s[j] = (uint32_t)p[j];
}
QK_INLINE void qk_sums_store(int32_t* p, const qk_sums* v) {
  for (int j = 0; j < 16; ++j) p[j] = (int32_t)v->s[j];
}
/* n products of pairs with x for all sums; a function of its own, for its sums fit registers. */
QK_SHARED void qk_sums_run(qk_sums* acc, const int8_t* w, const int16_t* x, int32_t n) {
  uint32_t s[16];
  for (int j = 0; j < 16; ++j) s[j] = acc->s[j];
  for (int32_t i = 0; i < n; i += 2, w += 32) {
    const int32_t a = x[i], b = x[i + 1];
    for (int j = 0; j < 16; ++j) s[j] += (uint32_t)(a * w[2 * j] + b * w[2 * j + 1]);
  }
  for (int j = 0; j < 16; ++j) acc->s[j] = s[j];
}
QK_INLINE qk_pairs qk_pairs_load_each(const int8_t* p) {
  const qk_pairs v = {p};
  return v;
}
QK_INLINE void qk_sums_each(qk_sums* acc, qk_pairs w, const void* x, int32_t x_signed,
                            int32_t zero) {
  if (x_signed) {
    for (int j = 0; j < 16; ++j) {
      acc->s[j] += (uint32_t)((((const int8_t*)x)[j] - zero) * w.w[j]);
    }
  } else {
    for (int j = 0; j < 16; ++j) {
      acc->s[j] += (uint32_t)((((const uint8_t*)x)[j] - zero) * w.w[j]);
    }
  }
}
#define QK_SUMS_KEEP(v) ((void)0)

#endif

#endif
