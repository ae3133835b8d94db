#include "kernels/common/body.h"
#include "kernels/common/inline.h"
#include "kernels/common/range.h"
#include "kernels/qgemm/qgemm.h"
#include "kernels/qtile/tile.h"

QK_INLINE void qk_qgemm(const qk_qgemm_params* p, const void* x, const int8_t* w,
                        const int32_t* bias, const void* multipliers, const float* float_bias,
                        const int32_t* w_zeros, const float* x_scales, const int32_t* x_zeros,
                        const void* residual, const int32_t* y_zeros, void* y) {
  const qk_q_output out =
      qk_q_output_of(&p->epilogue, multipliers, float_bias, x_scales != 0, residual);
  qk_qtile t;
  for (int i = 0; i < 3; ++i) {
    t.taps[i] = p->k > 0 ? 1 : 0;
    t.x_tap[i] = t.w_tap[i] = 0;
  }
  t.k = p->k;
  t.lead = 0;
  t.w_panel = (ptrdiff_t)((p->k + 1) / 2) * 32;
  t.x_type = p->x_type;
  t.x_size = p->x_type <= QK_U8 ? 1 : 2;
  t.simple = p->x_type <= QK_U8 && !x_zeros && !w_zeros;
  t.x_row = (ptrdiff_t)p->k * t.x_size;
  t.y_row = p->n;
  t.x_zero = p->x_zero;
  t.per_row = p->per_row;
  t.x_zeros = x_zeros;
  t.x_scales = x_scales;
  t.bias = bias;
  t.w_zeros = w_zeros;
  t.out = out;
  t.out.zeros = y_zeros;
  for (int32_t batch = 0; batch < p->batch; ++batch) {
    const uint8_t* xb = (const uint8_t*)x + (ptrdiff_t)batch * p->x_batch * t.x_size;
    const int8_t* wb = w + (ptrdiff_t)batch * p->w_batch;
    if (p->per_row) {
      t.x_zeros = x_zeros ? x_zeros + (ptrdiff_t)batch * p->m : 0;
      t.x_scales = x_scales ? x_scales + (ptrdiff_t)batch * p->m : 0;
    }
    for (int32_t o = 0; o < p->n;) {
      const int32_t panels = qk_qpanels_together((p->n - o + 15) / 16);
      const int32_t outputs = p->n - o < 16 * panels ? p->n - o : 16 * panels;
      t.channel = o;
      qk_run_qrows(&t, xb, wb + o / 16 * t.w_panel, y, (ptrdiff_t)batch * p->y_batch + o, p->m,
                   outputs);
      o += outputs;
    }
  }
}

QK_INLINE void qk_qgemm_pack(const qk_qgemm_pack_params* p, const uint8_t* w, uint8_t* y) {
  const uint8_t flip = p->flip ? 0x80 : 0;
  for (int32_t batch = 0; batch < p->batch; ++batch) {
    const uint8_t* wb = w + (ptrdiff_t)batch * p->batch_step;
    for (int32_t panel = 0; panel < p->n; panel += 16) {
      for (int32_t k = 0; k < p->k; k += 2) {
        const uint8_t* wk = wb + (ptrdiff_t)k * p->k_step + (ptrdiff_t)panel * p->n_step;
        for (int32_t j = 0; j < 16; ++j) {
          const int in = panel + j < p->n;
          *y++ = in ? (uint8_t)(wk[(ptrdiff_t)j * p->n_step] ^ flip) : 0;
          *y++ =
              in && k + 1 < p->k ? (uint8_t)(wk[(ptrdiff_t)j * p->n_step + p->k_step] ^ flip) : 0;
        }
      }
    }
  }
}

#define QK_WITH i8_i8, int8_t, int8_t
#include "kernels/qgemm/matmul.inc"
#define QK_WITH i8_u8, int8_t, uint8_t
#include "kernels/qgemm/matmul.inc"
#define QK_WITH i8_i16, int8_t, int16_t
#include "kernels/qgemm/matmul.inc"
#define QK_WITH i8_u16, int8_t, uint16_t
#include "kernels/qgemm/matmul.inc"
#define QK_WITH u8_i8, uint8_t, int8_t
#include "kernels/qgemm/matmul.inc"
#define QK_WITH u8_u8, uint8_t, uint8_t
#include "kernels/qgemm/matmul.inc"
#define QK_WITH u8_i16, uint8_t, int16_t
#include "kernels/qgemm/matmul.inc"
#define QK_WITH u8_u16, uint8_t, uint16_t
#include "kernels/qgemm/matmul.inc"
#define QK_WITH i16_i8, int16_t, int8_t
#include "kernels/qgemm/matmul.inc"
#define QK_WITH i16_u8, int16_t, uint8_t
#include "kernels/qgemm/matmul.inc"
#define QK_WITH i16_i16, int16_t, int16_t
#include "kernels/qgemm/matmul.inc"
#define QK_WITH i16_u16, int16_t, uint16_t
#include "kernels/qgemm/matmul.inc"
#define QK_WITH u16_i8, uint16_t, int8_t
#include "kernels/qgemm/matmul.inc"
#define QK_WITH u16_u8, uint16_t, uint8_t
#include "kernels/qgemm/matmul.inc"
#define QK_WITH u16_i16, uint16_t, int16_t
#include "kernels/qgemm/matmul.inc"
#define QK_WITH u16_u16, uint16_t, uint16_t
#include "kernels/qgemm/matmul.inc"

/* ---- weights of codes, everything else floats ---- */

/* Sixteen weights of input k, of codes, scales and zero points of their panel, to floats. */
QK_INLINE void qk_wgemm_decode16(const qk_wgemm_params* p, const uint8_t* w, const float* s,
                                 const int32_t* z, int32_t k, float* to) {
  const uint8_t* from = w + (ptrdiff_t)k * (p->nibbles ? 8 : 16);
#if QK_ACC_REGISTERS != 0
  const qk_acc zero = z ? qk_acc_load_n(z, 16) : qk_acc_set(p->zero);
  const qk_acc code = p->nibbles ? qk_acc_load_nibbles(from) : qk_acc_load_codes(from, 1);
  qk_v16_store(to, qk_v16_mul(qk_acc_float(qk_acc_sub(code, zero)), qk_v16_load(s)));
#else
  int32_t code[16];
  if (p->nibbles) {
    for (int j = 0; j < 8; ++j) code[j] = from[j] & 15;
    for (int j = 0; j < 8; ++j) code[8 + j] = from[j] >> 4;
  } else {
    for (int j = 0; j < 16; ++j) code[j] = ((const int8_t*)from)[j];
  }
  if (z) {
    for (int j = 0; j < 16; ++j) code[j] -= z[j];
  } else {
    for (int j = 0; j < 16; ++j) code[j] -= p->zero;
  }
  /* Only fused multiply-adds read the products, so they need no guard against contraction. */
  for (int j = 0; j < 16; ++j) to[j] = (float)code[j] * s[j];
#endif
}

/* n rows of 16 weights, from k on, to floats. */
QK_SHARED void qk_wgemm_decode(const qk_wgemm_params* p, const uint8_t* w, const float* scales,
                               const int32_t* zeros, int32_t k, int32_t n, float* to) {
  for (const int32_t end = k + n; k < end;) {
    const int32_t at = k / p->group, next = (at + 1) * p->group;
    const float* s = scales + (ptrdiff_t)at * 16;
    const int32_t* z = zeros ? zeros + (ptrdiff_t)at * 16 : 0;
    for (const int32_t last = next < end ? next : end; k < last; ++k, to += 16) {
      qk_wgemm_decode16(p, w, s, z, k, to);
    }
  }
}

/* Rows together: as many as fit registers, and what keeps the stack small where lanes are arrays.
 */
#if QK_VEC16_REGISTERS == 1
#define QK_WITH 12
#include "kernels/qgemm/wtile.inc"
#define QK_WITH 4
#include "kernels/qgemm/wtile.inc"
#define QK_W_TILES QK_W_TILE(12) QK_W_TILE(4) QK_W_TILE(1)
#elif QK_VEC16_REGISTERS != 0
#define QK_WITH 4
#include "kernels/qgemm/wtile.inc"
#define QK_W_TILES QK_W_TILE(4) QK_W_TILE(1)
#else
#define QK_WITH 2
#include "kernels/qgemm/wtile.inc"
#define QK_W_TILES QK_W_TILE(2) QK_W_TILE(1)
#endif
#define QK_WITH 1
#include "kernels/qgemm/wtile.inc"
#define QK_W_TILE(M)                                                                               \
  for (; m + M <= p->m; m += M) {                                                                  \
    qk_wtile_##M(p, x + (ptrdiff_t)m * p->k + k, rows, n, k == 0, bo, y + (ptrdiff_t)m * p->n + o, \
                 columns);                                                                         \
  }

QK_INLINE void qk_wgemm(const qk_wgemm_params* p, const float* x, const uint8_t* w,
                        const float* scales, const int32_t* zeros, const float* bias, float* y,
                        float* rows) {
  const int32_t groups = (p->k + p->group - 1) / p->group;
  const ptrdiff_t panel = (ptrdiff_t)p->k * (p->nibbles ? 8 : 16);
  const int32_t end = 16 * qk_range_end(p->first, p->count, (p->n + 15) / 16);
  for (int32_t o = 16 * p->first; o < end; o += 16) {
    const int32_t columns = p->n - o < 16 ? p->n - o : 16;
    const float* bo = bias ? bias + o : 0;
    int32_t k = 0;
    do { /* once where there are no inputs, too: results are the bias then */
      const int32_t n = p->k - k < QK_W_BLOCK ? p->k - k : QK_W_BLOCK;
      int32_t m = 0;
      qk_wgemm_decode(p, w + o / 16 * panel, scales + (ptrdiff_t)o * groups,
                      zeros ? zeros + (ptrdiff_t)o * groups : 0, k, n, rows);
      QK_W_TILES
      k += n;
    } while (k < p->k);
  }
}

/* Rows [start, end) with matrix e. */
QK_INLINE void qk_qgrouped_rows(const qk_qgrouped_params* p, int32_t e, int32_t start, int32_t end,
                                const void* x, const int8_t* w, const float* multipliers,
                                const float* x_scales, const int32_t* x_zeros, void* y) {
  const ptrdiff_t size = p->result.type == QK_F32 ? 4 : p->result.type <= QK_U8 ? 1 : 2;
  const ptrdiff_t own = p->per_row ? start : 0;
  qk_qgemm_params g = {0};
  g.batch = 1;
  g.m = end - start;
  g.n = p->n;
  g.k = p->k;
  g.per_row = p->per_row;
  g.x_type = p->x_type;
  g.x_zero = p->x_zero;
  g.epilogue.result = p->result;
  g.epilogue.result.bias_factor = 1.0f;
  qk_qgemm(&g, (const uint8_t*)x + (ptrdiff_t)start * p->k,
           w + (ptrdiff_t)e * ((p->n + 15) / 16) * ((p->k + 1) / 2) * 32, 0, multipliers, 0, 0,
           x_scales ? x_scales + own : 0, x_zeros ? x_zeros + own : 0, 0, 0,
           (uint8_t*)y + (ptrdiff_t)start * p->n * size);
}

/* Rows from `row` to `end`, which no matrix has. */
QK_INLINE void qk_qgrouped_rest(const qk_qgrouped_params* p, int32_t row, int32_t end, void* y) {
  for (ptrdiff_t i = (ptrdiff_t)row * p->n; i < (ptrdiff_t)end * p->n; ++i) {
    if (p->result.type == QK_F32) {
      ((float*)y)[i] = 0.0f;
    } else {
      qk_store_code(y, p->result.type, i, p->result.zero);
    }
  }
}

#define QK_DEFINE_QGROUPED(t, T)                                                              \
  QK_INLINE void qk_qgrouped_##t(const qk_qgrouped_params* p, const void* x, const int8_t* w, \
                                 const T* offsets, const float* multipliers,                  \
                                 const float* x_scales, const int32_t* x_zeros, void* y) {    \
    const int32_t last = qk_range_end(p->first, p->count, p->rows);                           \
    int32_t start = p->first;                                                                 \
    for (int32_t e = 0; e < p->groups; ++e) {                                                 \
      const int64_t at = offsets[e] < last ? offsets[e] : last;                               \
      const int32_t end = at > start ? (int32_t)at : start;                                   \
      qk_qgrouped_rows(p, e, start, end, x, w, multipliers, x_scales, x_zeros, y);            \
      start = end;                                                                            \
    }                                                                                         \
    qk_qgrouped_rest(p, start, last, y);                                                      \
  }
QK_DEFINE_QGROUPED(i32, int32_t)
QK_DEFINE_QGROUPED(i64, int64_t)

QK_INLINE void qk_unsigned_codes(const qk_unsigned_codes_params* p, const uint8_t* x,
                                 const int32_t* zeros, uint8_t* y, int32_t* y_zeros) {
  int32_t i = 0;
  for (; i + 8 <= p->n; i += 8) {
    uint64_t codes;
    memcpy(&codes, x + i, 8);
    codes ^= UINT64_C(0x8080808080808080);
    memcpy(y + i, &codes, 8);
  }
  for (; i < p->n; ++i) y[i] = (uint8_t)(x[i] ^ 0x80);
  for (int32_t r = 0; y_zeros && r < p->rows; ++r) y_zeros[r] = zeros[r] + 128;
}
