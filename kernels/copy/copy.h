#ifndef QK_COPY_H
#define QK_COPY_H
#include <stdint.h>

/* y = x, byte for byte. */
typedef struct {
  int32_t bytes;
} qk_copy_params;

#endif
