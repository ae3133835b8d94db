/* Sixteen 32-bit numbers at once: accumulators of products of codes, and codes on their way to and
 * from memory. Accumulators wrap, so that what is proved to fit when a sum is complete need not fit
 * on the way.
 */
#ifndef QK_ACCUMULATORS_H
#define QK_ACCUMULATORS_H

#include <string.h>

#include "kernels/common/shared.h"
#include "kernels/common/vec16.h"

#if defined(QK_LANES_WORDS)
#define QK_ACC_REGISTERS 1
#elif QK_VEC16_REGISTERS == 2
#define QK_ACC_REGISTERS 2
#else
#define QK_ACC_REGISTERS 0
#endif

/* Codes of a row of a product that are widened at a time. */
#define QK_Q_CHUNK 32

/* Two 16-bit numbers as one of 32 bits. */
QK_INLINE int32_t qk_pair(const int16_t* x) {
  int32_t pair;
  memcpy(&pair, x, 4);
  return pair;
}

#if QK_ACC_REGISTERS != 0
/* The low halves of 8 bytes, then the high ones. */
QK_INLINE __m128i qk_nibbles(const uint8_t* p) {
  const __m128i bytes = _mm_loadl_epi64((const __m128i*)(const void*)p);
  const __m128i low = _mm_set1_epi8(15);
  return _mm_unpacklo_epi64(_mm_and_si128(bytes, low),
                            _mm_and_si128(_mm_srli_epi16(bytes, 4), low));
}
#endif

#if QK_ACC_REGISTERS == 2
/* n <= 16 bytes, in few steps. */
QK_INLINE void qk_copy_bytes(uint8_t* to, const uint8_t* from, int32_t n) {
  int32_t i = 0;
  for (; i + 8 <= n; i += 8) memcpy(to + i, from + i, 8);
  for (; i + 4 <= n; i += 4) memcpy(to + i, from + i, 4);
  for (; i < n; ++i) to[i] = from[i];
}
#endif

#if QK_ACC_REGISTERS == 1

typedef __m512i qk_acc;   /* 16 accumulators */
typedef __m512i qk_pairs; /* 16 pairs of 16-bit numbers */

QK_INLINE qk_acc qk_acc_set(int32_t x) { return _mm512_set1_epi32(x); }
/* The first n of 16; the others are 0. */
QK_INLINE qk_acc qk_acc_load_n(const int32_t* p, int32_t n) {
  return _mm512_maskz_loadu_epi32((__mmask16)((1u << n) - 1u), p);
}
QK_INLINE void qk_acc_store(int32_t* p, qk_acc v) { _mm512_storeu_si512((void*)p, v); }
QK_INLINE qk_acc qk_acc_add(qk_acc a, qk_acc b) { return _mm512_add_epi32(a, b); }
QK_INLINE qk_acc qk_acc_sub(qk_acc a, qk_acc b) { return _mm512_sub_epi32(a, b); }
QK_INLINE qk_acc qk_acc_mul(qk_acc a, qk_acc b) { return _mm512_mullo_epi32(a, b); }
QK_INLINE qk_v16 qk_acc_float(qk_acc v) { return _mm512_cvtepi32_ps(v); }
/* Half to even. */
QK_INLINE qk_acc qk_acc_round(qk_v16 v) { return _mm512_cvtps_epi32(v); }
/* Sixteen codes of 8 bits. */
QK_INLINE qk_acc qk_acc_load_codes(const uint8_t* p, int32_t is_signed) {
  const __m128i bytes = _mm_loadu_si128((const __m128i*)(const void*)p);
  return is_signed ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes);
}
/* Sixteen codes of 4 bits: the low halves of 8 bytes, then the high ones. */
QK_INLINE qk_acc qk_acc_load_nibbles(const uint8_t* p) {
  return _mm512_cvtepu8_epi32(qk_nibbles(p));
}
/* The first n of 16; the others are 0. Eight are read and written as such, for what is written
 * under a mask is slow to read again. */
QK_INLINE qk_acc qk_acc_load_codes_n(const uint8_t* p, int32_t is_signed, int32_t n) {
  const __m128i bytes = n == 8 ? _mm_loadl_epi64((const __m128i*)(const void*)p)
                               : _mm_maskz_loadu_epi8((__mmask16)((1u << n) - 1u), p);
  return is_signed ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes);
}
/* The low bytes of the first n. */
QK_INLINE void qk_acc_store_codes_n(uint8_t* p, qk_acc v, int32_t n) {
  const __m128i bytes = _mm512_cvtepi32_epi8(v);
  if (n == 16) {
    _mm_storeu_si128((__m128i*)(void*)p, bytes);
  } else if (n == 8) {
    _mm_storel_epi64((__m128i*)(void*)p, bytes);
  } else {
    _mm_mask_storeu_epi8(p, (__mmask16)((1u << n) - 1u), bytes);
  }
}
/* Numbers of 8 bits as factors for qk_acc_each. */
QK_INLINE qk_acc qk_acc_factors(qk_acc v) { return _mm512_and_si512(v, _mm512_set1_epi32(0xffff)); }
/* acc + x * w for each, x codes of 8 bits, w from qk_acc_factors. */
QK_INLINE void qk_acc_each(qk_acc* acc, qk_acc w, qk_acc x) {
#if defined(QK_LANES_DOT)
  *acc = _mm512_dpwssd_epi32(*acc, w, x);
#else
  *acc = _mm512_add_epi32(*acc, _mm512_madd_epi16(w, x));
#endif
}
/* n <= QK_Q_CHUNK codes less `zero`; may write QK_Q_CHUNK numbers, those beyond n are 0 (here, not
 * in the other forms). */
QK_INLINE void qk_widen(const uint8_t* x, int32_t is_signed, int32_t n, int32_t zero, int16_t* to) {
  const __mmask32 first = (__mmask32)(0xffffffffu >> (32 - n));
  const __m256i bytes = _mm256_maskz_loadu_epi8(first, x);
  const __m512i codes = is_signed ? _mm512_cvtepi8_epi16(bytes) : _mm512_cvtepu8_epi16(bytes);
  const __m512i zeros = _mm512_set1_epi16((int16_t)zero);
  _mm512_storeu_si512((void*)to, _mm512_maskz_sub_epi16(first, codes, zeros));
}
QK_INLINE qk_pairs qk_pairs_load(const int8_t* p) {
  return _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i*)(const void*)p));
}
/* acc + x[0] * w[2j] + x[1] * w[2j + 1] for each j. */
QK_INLINE void qk_acc_dot(qk_acc* acc, qk_pairs w, const int16_t* x) {
  const __m512i xv = _mm512_set1_epi32(qk_pair(x));
#if defined(QK_LANES_DOT)
  *acc = _mm512_dpwssd_epi32(*acc, w, xv);
#else
  *acc = _mm512_add_epi32(*acc, _mm512_madd_epi16(w, xv));
#endif
}

#elif QK_ACC_REGISTERS == 2

typedef struct qk_acc {
  __m256i a, b;
} qk_acc;
typedef qk_acc qk_pairs;

QK_INLINE qk_acc qk_acc_set(int32_t x) {
  const qk_acc v = {_mm256_set1_epi32(x), _mm256_set1_epi32(x)};
  return v;
}
QK_INLINE qk_acc qk_acc_load_n(const int32_t* p, int32_t n) {
  int32_t some[16] = {0};
  for (int32_t j = 0; n < 16 && j < n; ++j) some[j] = p[j];
  if (n < 16) p = some;
  const qk_acc v = {_mm256_loadu_si256((const __m256i*)(const void*)p),
                    _mm256_loadu_si256((const __m256i*)(const void*)(p + 8))};
  return v;
}
QK_INLINE void qk_acc_store(int32_t* p, qk_acc v) {
  _mm256_storeu_si256((__m256i*)(void*)p, v.a);
  _mm256_storeu_si256((__m256i*)(void*)(p + 8), v.b);
}
QK_INLINE qk_acc qk_acc_add(qk_acc a, qk_acc b) {
  const qk_acc v = {_mm256_add_epi32(a.a, b.a), _mm256_add_epi32(a.b, b.b)};
  return v;
}
QK_INLINE qk_acc qk_acc_sub(qk_acc a, qk_acc b) {
  const qk_acc v = {_mm256_sub_epi32(a.a, b.a), _mm256_sub_epi32(a.b, b.b)};
  return v;
}
QK_INLINE qk_acc qk_acc_mul(qk_acc a, qk_acc b) {
  const qk_acc v = {_mm256_mullo_epi32(a.a, b.a), _mm256_mullo_epi32(a.b, b.b)};
  return v;
}
QK_INLINE qk_v16 qk_acc_float(qk_acc v) {
  const qk_v16 f = {_mm256_cvtepi32_ps(v.a), _mm256_cvtepi32_ps(v.b)};
  return f;
}
QK_INLINE qk_acc qk_acc_round(qk_v16 v) {
  const qk_acc s = {_mm256_cvtps_epi32(v.a), _mm256_cvtps_epi32(v.b)};
  return s;
}
/* The first n of 16, the others 0: put together in registers, for what is written in parts is slow
 * to read as a whole. */
QK_INLINE __m128i qk_bytes_load_n(const uint8_t* p, int32_t n) {
  uint64_t bytes = 0;
  if (n == 16) return _mm_loadu_si128((const __m128i*)(const void*)p);
  if (n >= 8) {
    const __m128i first = _mm_loadl_epi64((const __m128i*)(const void*)p);
    const __m128i last = _mm_loadl_epi64((const __m128i*)(const void*)(p + (n - 8)));
    return _mm_unpacklo_epi64(first, _mm_srl_epi64(last, _mm_cvtsi32_si128(8 * (16 - n))));
  }
  for (int32_t i = 0; i < n; ++i) bytes |= (uint64_t)p[i] << (8 * i);
  return _mm_loadl_epi64((const __m128i*)(const void*)&bytes);
}
QK_INLINE qk_acc qk_acc_load_codes_n(const uint8_t* p, int32_t is_signed, int32_t n) {
  const __m128i bytes = qk_bytes_load_n(p, n), rest = _mm_srli_si128(bytes, 8);
  const qk_acc v = {is_signed ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes),
                    is_signed ? _mm256_cvtepi8_epi32(rest) : _mm256_cvtepu8_epi32(rest)};
  return v;
}
QK_INLINE qk_acc qk_acc_load_codes(const uint8_t* p, int32_t is_signed) {
  return qk_acc_load_codes_n(p, is_signed, 16);
}
QK_INLINE qk_acc qk_acc_load_nibbles(const uint8_t* p) {
  const __m128i bytes = qk_nibbles(p);
  const qk_acc v = {_mm256_cvtepu8_epi32(bytes), _mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8))};
  return v;
}
QK_INLINE void qk_acc_store_codes_n(uint8_t* p, qk_acc v, int32_t n) {
  const __m256i low = _mm256_set1_epi32(0xff);
  const __m256i words = _mm256_packus_epi32(_mm256_and_si256(v.a, low), _mm256_and_si256(v.b, low));
  const __m256i order = _mm256_permute4x64_epi64(words, 0xd8);
  const __m128i bytes =
      _mm_packus_epi16(_mm256_castsi256_si128(order), _mm256_extracti128_si256(order, 1));
  uint8_t some[16];
  if (n == 16) {
    _mm_storeu_si128((__m128i*)(void*)p, bytes);
    return;
  }
  _mm_storeu_si128((__m128i*)(void*)some, bytes);
  qk_copy_bytes(p, some, n);
}
QK_INLINE qk_acc qk_acc_factors(qk_acc v) {
  const __m256i low = _mm256_set1_epi32(0xffff);
  const qk_acc w = {_mm256_and_si256(v.a, low), _mm256_and_si256(v.b, low)};
  return w;
}
QK_INLINE void qk_acc_each(qk_acc* acc, qk_acc w, qk_acc x) {
  acc->a = _mm256_add_epi32(acc->a, _mm256_madd_epi16(w.a, x.a));
  acc->b = _mm256_add_epi32(acc->b, _mm256_madd_epi16(w.b, x.b));
}
QK_INLINE void qk_widen(const uint8_t* x, int32_t is_signed, int32_t n, int32_t zero, int16_t* to) {
  const __m256i z = _mm256_set1_epi16((int16_t)zero);
  for (int32_t i = 0; i < n; i += 16) {
    const __m128i bytes = qk_bytes_load_n(x + i, n - i < 16 ? n - i : 16);
    const __m256i codes = is_signed ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes);
    _mm256_storeu_si256((__m256i*)(void*)(to + i), _mm256_sub_epi16(codes, z));
  }
}
QK_INLINE qk_pairs qk_pairs_load(const int8_t* p) {
  const qk_pairs v = {_mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i*)(const void*)p)),
                      _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i*)(const void*)(p + 16)))};
  return v;
}
QK_INLINE void qk_acc_dot(qk_acc* acc, qk_pairs w, const int16_t* x) {
  const __m256i xv = _mm256_set1_epi32(qk_pair(x));
  acc->a = _mm256_add_epi32(acc->a, _mm256_madd_epi16(w.a, xv));
  acc->b = _mm256_add_epi32(acc->b, _mm256_madd_epi16(w.b, xv));
}

#else

typedef struct qk_acc {
  uint32_t s[16];
} qk_acc;

QK_INLINE qk_acc qk_acc_set(int32_t x) {
  qk_acc v;
  for (int j = 0; j < 16; ++j) v.s[j] = (uint32_t)x;
  return v;
}
QK_INLINE qk_acc qk_acc_load_n(const int32_t* p, int32_t n) {
  qk_acc v;
  if (n == 16) {
    for (int j = 0; j < 16; ++j) v.s[j] = (uint32_t)p[j];
  } else {
    for (int j = 0; j < 16; ++j) v.s[j] = j < n ? (uint32_t)p[j] : 0;
  }
  return v;
}
QK_INLINE void qk_acc_store(int32_t* p, qk_acc v) {
  for (int j = 0; j < 16; ++j) p[j] = (int32_t)v.s[j];
}
#define QK_WIDEN(T, n) \
  for (int32_t j = 0; j < (n); ++j) to[j] = (int16_t)(((const T*)x)[j] - zero);
QK_INLINE void qk_widen(const uint8_t* x, int32_t is_signed, int32_t n, int32_t zero, int16_t* to) {
  if (n == QK_Q_CHUNK && is_signed) {
    QK_WIDEN(int8_t, QK_Q_CHUNK)
  } else if (n == QK_Q_CHUNK) {
    QK_WIDEN(uint8_t, QK_Q_CHUNK)
  } else if (is_signed) {
    QK_WIDEN(int8_t, n)
  } else {
    QK_WIDEN(uint8_t, n)
  }
}
/* n products of pairs with x for all accumulators; a function of its own, for its accumulators fit
 * registers. */
QK_SHARED void qk_acc_run(qk_acc* acc, const int8_t* w, const int16_t* x, int32_t n) {
  uint32_t s[16];
  for (int j = 0; j < 16; ++j) s[j] = acc->s[j];
  for (int32_t i = 0; i < n; i += 2, w += 32) {
    const int32_t a = x[i], b = x[i + 1];
    for (int j = 0; j < 16; ++j) s[j] += (uint32_t)(a * w[2 * j] + b * w[2 * j + 1]);
  }
  for (int j = 0; j < 16; ++j) acc->s[j] = s[j];
}

#endif

#endif
