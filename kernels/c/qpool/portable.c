#include "kernels/c/codes.h"
#include "kernels/c/pool/walk.h"
#include "kernels/c/qpool/qpool.h"
#include "kernels/numerics/quant_combine.h"
#include "kernels/numerics/quant_q31.h"

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
  }
  p.last = q->last;
  p.adaptive = q->adaptive;
  p.include = q->include;
  p.divisor = q->divisor;
  return p;
}

#define QK_DEFINE_QAVG_POOL(name, SUM, TERM, RESULT)                                \
  QK_INLINE void name(const qk_qpool_params* q, const void* x, void* y) {           \
    const qk_pool_params window = qk_qpool_window(q), *const p = &window;           \
    QK_POOL_LOOP(SUM sum = 0, const int32_t e = qk_load_code(x, q->type_x, i);      \
                 sum += (TERM), const int32_t count = qk_pool_count(p, wd, wh, ww); \
                 qk_store_code(y, q->type_y, at, RESULT))                           \
  }
#define QK_QAVG_EXACT qn_mean_code(sum, count, q->sx, q->sy, q->zero, q->lo, q->hi)
#define QK_QAVG_DECODED qn_dequantize(e, q->sx, q->zx)
QK_DEFINE_QAVG_POOL(qk_qavg_pool, int32_t, e - q->zx, QK_QAVG_EXACT)
QK_DEFINE_QAVG_POOL(qk_qavg_pool_wide, int64_t, e - q->zx, QK_QAVG_EXACT)
QK_DEFINE_QAVG_POOL(qk_qavg_pool_ort, float, QK_QAVG_DECODED,
                    qn_mean_code_ort(sum, count, q->sy, q->zero, q->lowest, q->lo, q->hi))
QK_DEFINE_QAVG_POOL(qk_qavg_pool_f32, float, QK_QAVG_DECODED,
                    qn_encode(sum / (float)count, q->divisor_y, q->reciprocal, q->zero, q->lo,
                              q->hi))
QK_DEFINE_QAVG_POOL(qk_qavg_pool_q31, int64_t, e - q->zx,
                    qn_mean_q31(sum, count, q->mantissa, q->shift, q->zero, q->lo, q->hi))
