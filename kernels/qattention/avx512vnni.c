/* Attention on codes with vpdpbusd (kernels/qattention/bytes.h): the calls and bits of
 * qk_qattention_i8, of QK_BYTES_LEAST_DEPTH to QK_BYTES_MOST_DEPTH codes a row. Needs avx512f, bw,
 * vl, dq and vnni for all functions. */
#include <stddef.h>
#include <string.h>

#include "kernels/attention/heads.h"
#include "kernels/common/body.h"
#include "kernels/common/codes.h"
#include "kernels/common/inline.h"
#include "kernels/common/quantize_epilogue.h"
#include "kernels/qattention/bytes.h"
#include "kernels/qattention/qattention.h"
#include "kernels/qattention/seen.h"
#include "kernels/qattention/weights.h"

#define QK_WITH qk_qattention_avx512vnni, bytes, 4, 1
#include "kernels/qattention/body.inc"
