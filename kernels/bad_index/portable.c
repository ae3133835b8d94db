#include <stddef.h>

#include "kernels/bad_index/bad_index.h"
#include "kernels/common/body.h"
#include "kernels/common/inline.h"

#define QK_WITH i64, int64_t
#include "kernels/bad_index/body.inc"
#define QK_WITH i32, int32_t
#include "kernels/bad_index/body.inc"
