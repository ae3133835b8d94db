/* Codes of a byte by products instead of quotients, for blocks of threads
 * (kernels/common/thread_block.h).
 *
 * A quotient by a scale is, rounded, within 2^-24 of itself, and so is the scale's reciprocal. The
 * products with the floats two below and two above the reciprocal are therefore on either side of
 * the quotient, with more than that between: where both round to one integer, which the sum with
 * 1.5 * 2^23 does, the quotient rounds to it, too, and is no tie. Elsewhere the quotient is
 * computed. The same holds for the product with a scale that is a reciprocal already. */
#ifndef QK_BRACKET_H
#define QK_BRACKET_H

#include "kernels/common/block_epilogue.h"

#define QK_BRACKET_MAGIC 12582912.0f

/* The two factors; the sum's other part, with the zero point; the least and the most code as such a
 * sum. */
typedef struct qk_bracket {
  float low, high, magic, least, most;
} qk_bracket;

/* Where a scale has no such factors, or codes are no bytes, nothing is decided: the factor `high`
 * is NaN. */
QK_UNIT qk_bracket qk_bracket_of(float scale, int32_t zero, int32_t reciprocal, int32_t lo,
                                 int32_t hi) {
  const int fits = scale > 0x1p-100f && scale < 0x1p100f && lo >= -128 && hi <= 255 &&
                   zero >= -65536 && zero <= 65536;
  const uint32_t factor = qn_bits_f32(reciprocal ? scale : 1.0f / scale);
  qk_bracket b;
  b.low = fits ? qn_from_bits_f32(factor - 2) : 0.0f;
  b.high = qn_from_bits_f32(fits ? factor + 2 : 0x7fffffffu);
  b.magic = QK_BRACKET_MAGIC + (float)zero;
  b.least = QK_BRACKET_MAGIC + (float)lo;
  b.most = QK_BRACKET_MAGIC + (float)hi;
  return b;
}

/* The code of v in the low byte; bits in `differ` where it is not decided. NaN has the least code.
 */
QK_UNIT uint32_t qk_bracket_code(const qk_bracket* b, float v, uint32_t* differ) {
  const float low = qn_fmaf(v, b->low, b->magic), high = qn_fmaf(v, b->high, b->magic);
  *differ |= qn_bits_f32(low) ^ qn_bits_f32(high);
  return qn_bits_f32(qk_block_lesser(qk_block_larger(low, b->least), b->most));
}

#endif
