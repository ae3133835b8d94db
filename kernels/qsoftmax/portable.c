#include "kernels/common/codes.h"
#include "kernels/numerics/quant_combine.h"
#include "kernels/qsoftmax/qsoftmax.h"
#include "kernels/qsoftmax/rows.h"

QK_INLINE void qk_qsoftmax(const qk_qsoftmax_params* p, const void* x, const float* table,
                           void* y) {
  if (p->inner == 1 && p->n >= 32) {
    qk_qsoftmax_rows(p, (const uint8_t*)x, table, (uint8_t*)y);
    return;
  }
  for (int32_t o = 0; o < p->outer; ++o) {
    for (int32_t i = 0; i < p->inner; ++i) {
      const ptrdiff_t row = (ptrdiff_t)o * p->n * p->inner + i;
      int32_t most = -128;
      float sum = 0.0f;
      for (int32_t k = 0; k < p->n; ++k) {
        const int32_t code = qk_load_code(x, p->type_x, row + (ptrdiff_t)k * p->inner);
        most = code > most ? code : most;
      }
      for (int32_t k = 0; k < p->n; ++k) {
        sum += table[255 - most + qk_load_code(x, p->type_x, row + (ptrdiff_t)k * p->inner)];
      }
      for (int32_t k = 0; k < p->n; ++k) {
        const ptrdiff_t at = row + (ptrdiff_t)k * p->inner;
        const float e = table[255 - most + qk_load_code(x, p->type_x, at)];
        qk_store_code(y, p->type_y, at,
                      qn_softmax_code_ort(e, p->steps, sum, p->zero, p->lo, p->hi));
      }
    }
  }
}
