#ifndef QK_WHERE_H
#define QK_WHERE_H
#include "kernels/common/elementwise.h"

/* y = c ? a : b with broadcasting; c holds bytes of 0 or 1. Only the element's storage type
 * matters: f16 goes as u16, signed integers as unsigned ones. */

#endif
