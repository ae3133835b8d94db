#include "kernels/common/inline.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/tile.h"
#include "kernels/numerics/half.h"
#include "kernels/numerics/scalar_ops.h"

QK_INLINE void qk_gemm_f32(const qk_gemm_params* p, const float* x, const float* w,
                           const float* bias, const float* residual, float* y) {
  qk_tile t = {{1, 1, 1}, 0, {0, 0, 0}, {0, 0, 0}, 0, 0, 0, 0.0f, 0.0f, 0.0f, 0.0f};
  t.k = p->k;
  t.w_panel = (ptrdiff_t)p->k * 16;
  t.x_row = p->x_row;
  t.y_row = p->n;
  t.lo = p->lo;
  t.hi = p->hi;
  t.rlo = p->rlo;
  t.rhi = p->rhi;
  for (int32_t batch = 0; batch < p->batch; ++batch) {
    const float* xb = x + (ptrdiff_t)batch * p->x_batch;
    const float* wb = w + (ptrdiff_t)batch * p->w_batch;
    for (int32_t o = 0; o < p->n;) {
      const ptrdiff_t at = (ptrdiff_t)batch * p->y_batch + o;
      const int32_t panels = qk_panels_together((p->n - o + 15) / 16);
      const int32_t outputs = p->n - o < 16 * panels ? p->n - o : 16 * panels;
      qk_run_rows(&t, xb, wb + o / 16 * t.w_panel, bias ? bias + o : 0,
                  residual ? residual + at : 0, y + at, p->m, outputs, panels);
      o += outputs;
    }
  }
}

QK_INLINE void qk_gemm_pack_f32(const qk_gemm_pack_params* p, const float* w, float* y) {
  for (int32_t batch = 0; batch < p->batch; ++batch) {
    const float* wb = w + (ptrdiff_t)batch * p->batch_step;
    for (int32_t panel = 0; panel < p->n; panel += 16) {
      for (int32_t k = 0; k < p->k; ++k) {
        const float* wk = wb + (ptrdiff_t)k * p->k_step + (ptrdiff_t)panel * p->n_step;
        for (int32_t j = 0; j < 16; ++j) {
          *y++ = panel + j < p->n ? wk[(ptrdiff_t)j * p->n_step] : 0.0f;
        }
      }
    }
  }
}

#define QK_DEFINE_MATMUL(suffix, S, T, MULADD, CLAMP, LOAD, STORE)                        \
  QK_INLINE void qk_matmul_##suffix(const qk_matmul_params* p, const S* a, const S* b,    \
                                    const S* bias, S* y) {                                \
    for (int32_t i = 0; i < p->batch[0]; ++i) {                                           \
      for (int32_t j = 0; j < p->batch[1]; ++j) {                                         \
        for (int32_t l = 0; l < p->batch[2]; ++l) {                                       \
          const S* ab = a + (ptrdiff_t)i * p->a_batch[0] + (ptrdiff_t)j * p->a_batch[1] + \
                        (ptrdiff_t)l * p->a_batch[2];                                     \
          const S* bb = b + (ptrdiff_t)i * p->b_batch[0] + (ptrdiff_t)j * p->b_batch[1] + \
                        (ptrdiff_t)l * p->b_batch[2];                                     \
          for (int32_t m = 0; m < p->m; ++m) {                                            \
            for (int32_t n = 0; n < p->n; ++n) {                                          \
              const ptrdiff_t at = (ptrdiff_t)m * p->bias_m + (ptrdiff_t)n * p->bias_n;   \
              T acc = bias ? LOAD(bias[at]) : (T)0;                                       \
              for (int32_t k = 0; k < p->k; ++k) {                                        \
                const T u = LOAD(ab[(ptrdiff_t)m * p->a_m + (ptrdiff_t)k * p->a_k]);      \
                const T v = LOAD(bb[(ptrdiff_t)k * p->b_k + (ptrdiff_t)n * p->b_n]);      \
                acc = MULADD(u, v, acc);                                                  \
              }                                                                           \
              *y++ = STORE(CLAMP(acc));                                                   \
            }                                                                             \
          }                                                                               \
        }                                                                                 \
      }                                                                                   \
    }                                                                                     \
  }

#define QK_GEMM_SAME(v) (v)
#define QK_GEMM_LIMIT_F32(v) qn_clamp_f32((v), p->lo, p->hi)
#define QK_GEMM_LIMIT_F64(v) qn_clamp_f64((v), (double)p->lo, (double)p->hi)
QK_DEFINE_MATMUL(f32, float, float, qn_fmaf, QK_GEMM_LIMIT_F32, QK_GEMM_SAME, QK_GEMM_SAME)
QK_DEFINE_MATMUL(f64, double, double, qn_fma, QK_GEMM_LIMIT_F64, QK_GEMM_SAME, QK_GEMM_SAME)
QK_DEFINE_MATMUL(f16, uint16_t, float, qn_fmaf, QK_GEMM_LIMIT_F32, qn_f16_to_f32, qn_f16_from_f32)
QK_DEFINE_MATMUL(bf16, uint16_t, float, qn_fmaf, QK_GEMM_LIMIT_F32, qn_bf16_to_f32,
                 qn_bf16_from_f32)

#define QK_DEFINE_MATMUL_INT(t, T)                                                     \
  QK_INLINE T qk_muladd_##t(T a, T b, T c) { return qn_add_##t(qn_mul_##t(a, b), c); } \
  QK_DEFINE_MATMUL(t, T, T, qk_muladd_##t, QK_GEMM_SAME, QK_GEMM_SAME, QK_GEMM_SAME)
QK_DEFINE_MATMUL_INT(i8, int8_t)
QK_DEFINE_MATMUL_INT(i16, int16_t)
QK_DEFINE_MATMUL_INT(i32, int32_t)
QK_DEFINE_MATMUL_INT(i64, int64_t)
QK_DEFINE_MATMUL_INT(u8, uint8_t)
QK_DEFINE_MATMUL_INT(u16, uint16_t)
QK_DEFINE_MATMUL_INT(u32, uint32_t)
QK_DEFINE_MATMUL_INT(u64, uint64_t)

#define QK_DEFINE_GROUPED(suffix, S, O, LOAD, STORE)                                            \
  QK_INLINE void qk_grouped_##suffix(const qk_grouped_params* p, const S* x, const S* w,        \
                                     const O* offsets, S* y) {                                  \
    int32_t row = 0;                                                                            \
    for (int32_t e = 0; e < p->groups; ++e) {                                                   \
      const S* we = w + (ptrdiff_t)e * p->k * p->n;                                             \
      for (; row < p->rows && (int64_t)row < (int64_t)offsets[e]; ++row) {                      \
        const S* xr = x + (ptrdiff_t)row * p->k;                                                \
        for (int32_t n = 0; n < p->n; n += 16) {                                                \
          const int32_t lanes = p->n - n < 16 ? p->n - n : 16;                                  \
          float acc[16] = {0};                                                                  \
          for (int32_t k = 0; k < p->k; ++k) {                                                  \
            const S* wk = we + (ptrdiff_t)k * p->n + n;                                         \
            const float v = LOAD(xr[k]);                                                        \
            for (int32_t j = 0; j < lanes; ++j) acc[j] = qn_fmaf(v, LOAD(wk[j]), acc[j]);       \
          }                                                                                     \
          for (int32_t j = 0; j < lanes; ++j) y[(ptrdiff_t)row * p->n + n + j] = STORE(acc[j]); \
        }                                                                                       \
      }                                                                                         \
    }                                                                                           \
    for (ptrdiff_t i = (ptrdiff_t)row * p->n; i < (ptrdiff_t)p->rows * p->n; ++i) y[i] = 0;     \
  }
QK_DEFINE_GROUPED(f32_i32, float, int32_t, QK_GEMM_SAME, QK_GEMM_SAME)
QK_DEFINE_GROUPED(f32_i64, float, int64_t, QK_GEMM_SAME, QK_GEMM_SAME)
QK_DEFINE_GROUPED(f16_i32, uint16_t, int32_t, qn_f16_to_f32, qn_f16_from_f32)
QK_DEFINE_GROUPED(f16_i64, uint16_t, int64_t, qn_f16_to_f32, qn_f16_from_f32)
QK_DEFINE_GROUPED(bf16_i32, uint16_t, int32_t, qn_bf16_to_f32, qn_bf16_from_f32)
QK_DEFINE_GROUPED(bf16_i64, uint16_t, int64_t, qn_bf16_to_f32, qn_bf16_from_f32)
