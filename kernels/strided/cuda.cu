/* One unit is some neighbouring elements, 16 bytes at most; they move as bytes, so their type does
 * not matter. */
#include <string.h>

#include "kernels/common/body.h"
#include "kernels/common/cuda.h"
#include "kernels/strided/strided.h"

/* The place of `unit` along a dim of so many: `unit` is then that of the dims before. `small` says
 * that 32 bits hold all units, whose divisions take fewer instructions. */
QK_UNIT int32_t qk_strided_position(int64_t* unit, int32_t size, int small) {
  const int64_t all = *unit;
  if (small) {
    *unit = (uint32_t)all / (uint32_t)size;
    return (int32_t)((uint32_t)all % (uint32_t)size);
  }
  *unit = all / size;
  return (int32_t)(all % size);
}

/* Bytes from one place to another, both aligned to their number. */
#define QK_STRIDED_MOVE(bytes) \
  memcpy(__builtin_assume_aligned(to, bytes), __builtin_assume_aligned(from, bytes), bytes)
QK_UNIT void qk_strided_move(unsigned char* to, const unsigned char* from, int32_t bytes) {
  if (bytes == 16) QK_STRIDED_MOVE(16);
  if (bytes == 8) QK_STRIDED_MOVE(8);
  if (bytes == 4) QK_STRIDED_MOVE(4);
  if (bytes == 2) QK_STRIDED_MOVE(2);
  if (bytes == 1) *to = *from;
}

#define QK_WITH 1
#include "kernels/strided/cuda.inc"
#define QK_WITH 2
#include "kernels/strided/cuda.inc"
#define QK_WITH 4
#include "kernels/strided/cuda.inc"
#define QK_WITH 8
#include "kernels/strided/cuda.inc"
