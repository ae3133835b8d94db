/* Codes of any type, read and written one at a time: kernels whose operands may differ in type. The
 * type is a parameter, so it costs nothing where the parameters are constants. */
#ifndef QK_CODES_H
#define QK_CODES_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/common/inline.h"
#include "kernels/common/shared.h"
#include "kernels/numerics/code_types.h"

QK_INLINE int32_t qk_load_code(const void* x, int32_t type, ptrdiff_t i) {
  switch (type) {
    case QK_I8:
      return ((const int8_t*)x)[i];
    case QK_U8:
      return ((const uint8_t*)x)[i];
    case QK_I16:
      return ((const int16_t*)x)[i];
    default:
      return ((const uint16_t*)x)[i];
  }
}

QK_INLINE void qk_store_code(void* y, int32_t type, ptrdiff_t i, int32_t code) {
  switch (type) {
    case QK_I8:
      ((int8_t*)y)[i] = (int8_t)code;
      break;
    case QK_U8:
      ((uint8_t*)y)[i] = (uint8_t)code;
      break;
    case QK_I16:
      ((int16_t*)y)[i] = (int16_t)code;
      break;
    default:
      ((uint16_t*)y)[i] = (uint16_t)code;
      break;
  }
}

/* Adds n <= 16 codes of 8 bits, less their zero point, to sums: a function of its own, for in loops
 * around it compilers would not find the vectors. */
QK_SHARED void qk_add_codes(int32_t* sums, const uint8_t* x, int32_t type, int32_t zero,
                            int32_t n) {
  if (n == 16 && type == QK_I8) {
    for (int j = 0; j < 16; ++j) sums[j] += ((const int8_t*)x)[j] - zero;
  } else if (n == 16) {
    for (int j = 0; j < 16; ++j) sums[j] += x[j] - zero;
  } else {
    for (int32_t j = 0; j < n; ++j) sums[j] += qk_load_code(x, type, j) - zero;
  }
}

/* The low bytes of n <= 16 codes: codes of 8 bits, whatever their sign. */
QK_INLINE void qk_store_bytes(uint8_t* y, const int32_t* codes, int32_t n) {
  uint8_t bytes[16];
  for (int j = 0; j < 16; ++j) bytes[j] = (uint8_t)codes[j];
  memcpy(y, bytes, n == 16 ? 16 : (size_t)n);
}

#endif
