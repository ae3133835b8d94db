#include <stddef.h>
#include <string.h>

#include "kernels/attention/heads.h"
#include "kernels/common/body.h"
#include "kernels/common/codes.h"
#include "kernels/common/inline.h"
#include "kernels/common/quantize_epilogue.h"
#include "kernels/qattention/pairs.h"
#include "kernels/qattention/qattention.h"
#include "kernels/qattention/seen.h"
#include "kernels/qattention/weights.h"

#define QK_WITH qk_qattention_i8, pairs, 2, 2
#include "kernels/qattention/body.inc"
