/* Tables of 256 bytes in registers: 64 of them looked up at once. */
#ifndef QK_LOOKUP_H
#define QK_LOOKUP_H

#include "kernels/common/accumulators.h"
#include "kernels/common/inline.h"

#if QK_ACC_REGISTERS == 1
/* The bytes of a table as 128 pairs. */
typedef struct qk_byte_table {
  __m512i pairs[4];
} qk_byte_table;

QK_INLINE qk_byte_table qk_byte_table_load(const uint8_t* table) {
  qk_byte_table t;
  for (int i = 0; i < 4; ++i) t.pairs[i] = _mm512_loadu_si512((const void*)(table + 64 * i));
  return t;
}

/* The pairs in which 32 bytes, given as words, are found. */
QK_INLINE __m512i qk_byte_table_pairs(const qk_byte_table* t, __m512i words) {
  const __m512i at = _mm512_srli_epi16(words, 1);
  const __m512i low = _mm512_permutex2var_epi16(t->pairs[0], at, t->pairs[1]);
  const __m512i high = _mm512_permutex2var_epi16(t->pairs[2], at, t->pairs[3]);
  return _mm512_mask_blend_epi16(_mm512_test_epi16_mask(words, _mm512_set1_epi16(128)), low, high);
}

/* y[i] = table[x[i]] for 64 bytes: those at even places as low bytes of words, the others as high
 * ones. */
QK_INLINE void qk_byte_table_64(const qk_byte_table* t, const uint8_t* x, uint8_t* y) {
  const __m512i v = _mm512_loadu_si512((const void*)x), eight = _mm512_set1_epi16(8);
  const __m512i even = _mm512_and_si512(v, _mm512_set1_epi16(255)), odd = _mm512_srli_epi16(v, 8);
  const __m512i down = _mm512_and_si512(_mm512_slli_epi16(even, 3), eight);
  const __m512i up = _mm512_andnot_si512(_mm512_slli_epi16(odd, 3), eight);
  const __m512i a = _mm512_srlv_epi16(qk_byte_table_pairs(t, even), down);
  const __m512i b = _mm512_sllv_epi16(qk_byte_table_pairs(t, odd), up);
  _mm512_storeu_si512((void*)y, _mm512_mask_blend_epi8(0xaaaaaaaaaaaaaaaaull, a, b));
}
#endif

#endif
