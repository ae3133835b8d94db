#include "kernels/common/elementwise.h"
#include "kernels/common/inline.h"
#include "kernels/logcumsumexp/logcumsumexp.h"
#include "kernels/numerics/half.h"
#include "kernels/numerics/logsum.h"

#define QK_DEFINE_LOGCUMSUMEXP(op, s, S, T, t, LOAD, STORE)                               \
  QK_INLINE void qk_logcumsumexp_##s(const qk_logcumsumexp_params* p, const S* x, S* y) { \
    for (int32_t o = 0; o < p->outer; ++o) {                                              \
      for (int32_t i = 0; i < p->inner; ++i) {                                            \
        T top = -QN_INF_F32, sum = 0;                                                     \
        for (int32_t k = 0; k < p->n; ++k) {                                              \
          const int32_t at = (o * p->n + k) * p->inner + i;                               \
          y[at] = STORE(qn_logsum_##t(&top, &sum, LOAD(x[at])));                          \
        }                                                                                 \
      }                                                                                   \
    }                                                                                     \
  }
QK_FLOAT_TYPES(QK_DEFINE_LOGCUMSUMEXP, )
#undef QK_DEFINE_LOGCUMSUMEXP
