/* One unit is one element; it moves as bytes, so its type does not matter. */
#include <string.h>

#include "kernels/common/body.h"
#include "kernels/common/cuda.h"
#include "kernels/strided/strided.h"

#define QK_WITH 1
#include "kernels/strided/cuda.inc"
#define QK_WITH 2
#include "kernels/strided/cuda.inc"
#define QK_WITH 4
#include "kernels/strided/cuda.inc"
#define QK_WITH 8
#include "kernels/strided/cuda.inc"
