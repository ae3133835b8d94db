/* What pools of codes add up for a code e, and the code of the result: terms and formulas of
 * kernels/qpool/qpool.h, of the parameters q, the sum and the count of elements. */
#ifndef QK_QPOOL_MEAN_H
#define QK_QPOOL_MEAN_H

#include "kernels/numerics/quant_combine.h"
#include "kernels/numerics/quant_q31.h"
#include "kernels/pool/walk.h"
#include "kernels/qpool/qpool.h"

QK_INLINE qk_pool_params qk_qpool_window(const qk_qpool_params* q) {
  qk_pool_params p = {0};
  p.n = q->n;
  p.c = q->c;
  for (int i = 0; i < 3; ++i) {
    p.in[i] = q->in[i];
    p.out[i] = q->out[i];
    p.k[i] = q->k[i];
    p.stride[i] = q->stride[i];
    p.dilation[i] = q->dilation[i];
    p.pad[i] = q->pad[i];
    p.end[i] = q->end[i];
    p.valid[i] = q->valid[i];
  }
  p.nhwc = q->nhwc;
  p.adaptive = q->adaptive;
  p.include = q->include;
  p.divisor = q->divisor;
  return p;
}

#define QK_QAVG_OFFSET e - q->zx
#define QK_QAVG_DECODED qn_dequantize(e, q->sx, q->zx)
#define QK_QAVG_EXACT qn_mean_code(sum, count, q->sx, q->sy, q->zero, q->lo, q->hi)
#define QK_QAVG_ORT qn_mean_code_ort(sum, count, q->sy, q->zero, q->lowest, q->lo, q->hi)
#define QK_QAVG_F32 \
  qn_encode(sum / (float)count, q->divisor_y, q->reciprocal, q->zero, q->lo, q->hi)
#define QK_QAVG_Q31 \
  qn_mean_q31(sum, count > 0 ? count : 1, q->mantissa, q->shift, q->zero, q->lo, q->hi)

#endif
