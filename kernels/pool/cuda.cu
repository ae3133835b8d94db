/* One unit is one output of one channel; of codes of 8 bits sixteen neighbouring channels of an
 * output where they lie channels-last, and the outputs of sixteen neighbouring columns where not;
 * of floats four neighbouring outputs. */
#include <string.h>

#include "kernels/common/body.h"
#include "kernels/common/cuda.h"
#include "kernels/numerics/base.h"
#include "kernels/pool/fours.h"
#include "kernels/pool/pool.h"
#include "kernels/pool/position.h"
#include "kernels/pool/strip.h"
#include "kernels/pool/walk.h"

#define QK_POOL_LARGER(a, b) ((a) > (b) ? (a) : (b))

/* The larger of two numbers of 16 bits each. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
QK_UNIT uint32_t qk_pool_larger_two(uint32_t a, uint32_t b, int with_sign) {
  uint32_t to;
  if (with_sign) asm("max.s16x2 %0, %1, %2;" : "=r"(to) : "r"(a), "r"(b));
  if (!with_sign) asm("max.u16x2 %0, %1, %2;" : "=r"(to) : "r"(a), "r"(b));
  return to;
}
#endif
/* The larger of four codes each. A number of 16 bits is larger if its upper byte is, so two at a
 * time are joined, and those below them likewise after they have moved up. */
QK_UNIT uint32_t qk_pool_larger(uint32_t a, uint32_t b, int with_sign) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  return __byte_perm(qk_pool_larger_two(a << 8, b << 8, with_sign),
                     qk_pool_larger_two(a, b, with_sign), 0x7351);
#elif defined(__CUDA_ARCH__)
  return with_sign ? __vmaxs4(a, b) : __vmaxu4(a, b);
#else
  const uint32_t flip = with_sign ? 0x80808080u : 0;
  uint32_t out = 0;
  for (int i = 0; i < 32; i += 8)
    out |= ((uint8_t)((a ^ flip) >> i) > (uint8_t)((b ^ flip) >> i) ? a : b) & 0xffu << i;
  return out;
#endif
}
QK_UNIT uint32_t qk_pool_larger_i8(uint32_t a, uint32_t b) { return qk_pool_larger(a, b, 1); }
QK_UNIT uint32_t qk_pool_larger_u8(uint32_t a, uint32_t b) { return qk_pool_larger(a, b, 0); }
#define QK_WITH i8, qk_pool_larger_i8, 0x80808080u
#include "kernels/pool/strip.inc"
#define QK_WITH u8, qk_pool_larger_u8, 0u
#include "kernels/pool/strip.inc"
/* How many strips there are. Types of 16 bits have none, and codes alone are joined four at a time.
 */
#define QK_POOL_CODES(p) (qk_pool_in_strips(p) ? qk_pool_strips(p) : 0)
#define QK_POOL_NEVER(p) 0
#define QK_POOL_NONE(p, unit, x, y) (void)0
#define QK_POOL_FIRST(a, b) (a)

#define QK_WITH \
  f32, float, qn_max_f32, -QN_INF_F32, 1, qk_pool_fours, qk_max_pool_four_f32, QK_POOL_FIRST
#include "kernels/pool/cuda.inc"
#define QK_WITH \
  i8, int8_t, QK_POOL_LARGER, INT8_MIN, 16, QK_POOL_CODES, qk_max_pool_strip_i8, qk_pool_larger_i8
#include "kernels/pool/cuda.inc"
#define QK_WITH \
  u8, uint8_t, QK_POOL_LARGER, 0, 16, QK_POOL_CODES, qk_max_pool_strip_u8, qk_pool_larger_u8
#include "kernels/pool/cuda.inc"
#define QK_WITH \
  i16, int16_t, QK_POOL_LARGER, INT16_MIN, 1, QK_POOL_NEVER, QK_POOL_NONE, QK_POOL_FIRST
#include "kernels/pool/cuda.inc"
#define QK_WITH u16, uint16_t, QK_POOL_LARGER, 0, 1, QK_POOL_NEVER, QK_POOL_NONE, QK_POOL_FIRST
#include "kernels/pool/cuda.inc"
