#include "kernels/common/body.h"
#include "kernels/common/inline.h"
#include "kernels/common/range.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/tile.h"
#include "kernels/numerics/dot.h"
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
  t.rlo = p->add_f32.lo;
  t.rhi = p->add_f32.hi;
  for (int32_t batch = 0; batch < p->batch; ++batch) {
    const float* xb = x + (ptrdiff_t)batch * p->x_batch;
    const float* wb = w + (ptrdiff_t)batch * p->w_batch;
    for (int32_t o = 0; o < p->n;) {
      const ptrdiff_t at = (ptrdiff_t)batch * p->y_batch + o;
      const int32_t panels = qk_panels_together((p->n - o + 15) / 16);
      const int32_t outputs = p->n - o < 16 * panels ? p->n - o : 16 * panels;
      qk_run_rows(&t, xb, wb + o / 16 * t.w_panel, bias ? bias + o : 0,
                  residual ? residual + at : 0, y + at, p->m, outputs, panels, QK_IS_NUMBER(p->m));
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

#define QK_GEMM_SAME(v) (v)
#define QK_GEMM_LIMIT_F32(v) qn_clamp_f32((v), p->lo, p->hi)
#define QK_GEMM_LIMIT_F64(v) qn_clamp_f64((v), (double)p->lo, (double)p->hi)
#define QK_WITH f32, float, float, qn_dot_step_f32, QK_GEMM_LIMIT_F32, QK_GEMM_SAME, QK_GEMM_SAME
#include "kernels/gemm/matmul.inc"
#define QK_WITH f64, double, double, qn_dot_step_f64, QK_GEMM_LIMIT_F64, QK_GEMM_SAME, QK_GEMM_SAME
#include "kernels/gemm/matmul.inc"
#define QK_WITH \
  f16, uint16_t, float, qn_dot_step_f32, QK_GEMM_LIMIT_F32, qn_f16_to_f32, qn_f16_from_f32
#include "kernels/gemm/matmul.inc"
#define QK_WITH \
  bf16, uint16_t, float, qn_dot_step_f32, QK_GEMM_LIMIT_F32, qn_bf16_to_f32, qn_bf16_from_f32
#include "kernels/gemm/matmul.inc"

#define QK_DEFINE_MULADD(t, T) \
  QK_INLINE T qk_muladd_##t(T a, T b, T c) { return qn_add_##t(qn_mul_##t(a, b), c); }
QK_DEFINE_MULADD(i8, int8_t)
#define QK_WITH i8, int8_t, int8_t, qk_muladd_i8, QK_GEMM_SAME, QK_GEMM_SAME, QK_GEMM_SAME
#include "kernels/gemm/matmul.inc"
QK_DEFINE_MULADD(i16, int16_t)
#define QK_WITH i16, int16_t, int16_t, qk_muladd_i16, QK_GEMM_SAME, QK_GEMM_SAME, QK_GEMM_SAME
#include "kernels/gemm/matmul.inc"
QK_DEFINE_MULADD(i32, int32_t)
#define QK_WITH i32, int32_t, int32_t, qk_muladd_i32, QK_GEMM_SAME, QK_GEMM_SAME, QK_GEMM_SAME
#include "kernels/gemm/matmul.inc"
QK_DEFINE_MULADD(i64, int64_t)
#define QK_WITH i64, int64_t, int64_t, qk_muladd_i64, QK_GEMM_SAME, QK_GEMM_SAME, QK_GEMM_SAME
#include "kernels/gemm/matmul.inc"
QK_DEFINE_MULADD(u8, uint8_t)
#define QK_WITH u8, uint8_t, uint8_t, qk_muladd_u8, QK_GEMM_SAME, QK_GEMM_SAME, QK_GEMM_SAME
#include "kernels/gemm/matmul.inc"
QK_DEFINE_MULADD(u16, uint16_t)
#define QK_WITH u16, uint16_t, uint16_t, qk_muladd_u16, QK_GEMM_SAME, QK_GEMM_SAME, QK_GEMM_SAME
#include "kernels/gemm/matmul.inc"
QK_DEFINE_MULADD(u32, uint32_t)
#define QK_WITH u32, uint32_t, uint32_t, qk_muladd_u32, QK_GEMM_SAME, QK_GEMM_SAME, QK_GEMM_SAME
#include "kernels/gemm/matmul.inc"
QK_DEFINE_MULADD(u64, uint64_t)
#define QK_WITH u64, uint64_t, uint64_t, qk_muladd_u64, QK_GEMM_SAME, QK_GEMM_SAME, QK_GEMM_SAME
#include "kernels/gemm/matmul.inc"

#define QK_WITH f32_i32, float, int32_t, QK_GEMM_SAME, QK_GEMM_SAME
#include "kernels/gemm/grouped.inc"
#define QK_WITH f32_i64, float, int64_t, QK_GEMM_SAME, QK_GEMM_SAME
#include "kernels/gemm/grouped.inc"
#define QK_WITH f16_i32, uint16_t, int32_t, qn_f16_to_f32, qn_f16_from_f32
#include "kernels/gemm/grouped.inc"
#define QK_WITH f16_i64, uint16_t, int64_t, qn_f16_to_f32, qn_f16_from_f32
#include "kernels/gemm/grouped.inc"
#define QK_WITH bf16_i32, uint16_t, int32_t, qn_bf16_to_f32, qn_bf16_from_f32
#include "kernels/gemm/grouped.inc"
#define QK_WITH bf16_i64, uint16_t, int64_t, qn_bf16_to_f32, qn_bf16_from_f32
#include "kernels/gemm/grouped.inc"
