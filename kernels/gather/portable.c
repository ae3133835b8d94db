#include <stddef.h>
#include <string.h>

#include "kernels/common/body.h"
#include "kernels/common/inline.h"
#include "kernels/gather/gather.h"
#include "kernels/numerics/index.h"

#define QK_GATHER_FOR(d) for (int32_t i##d = 0; i##d < p->dims[d]; ++i##d)

#define QK_WITH i64, int64_t
#include "kernels/gather/body.inc"
#define QK_WITH i32, int32_t
#include "kernels/gather/body.inc"

QK_INLINE void qk_gather_table(const qk_gather_table_params* p, const void* x, const int32_t* table,
                               void* y) {
  const unsigned char* from = (const unsigned char*)x;
  unsigned char* to = (unsigned char*)y;
  const size_t block = (size_t)p->block;
  const int32_t *t0 = table, *t1 = t0 + p->dims[0], *t2 = t1 + p->dims[1], *t3 = t2 + p->dims[2];
  const int32_t *t4 = t3 + p->dims[3], *t5 = t4 + p->dims[4], *t6 = t5 + p->dims[5];
  const int32_t* t7 = t6 + p->dims[6];
  QK_GATHER_FOR(0)
  QK_GATHER_FOR(1)
  QK_GATHER_FOR(2) QK_GATHER_FOR(3) QK_GATHER_FOR(4) QK_GATHER_FOR(5) QK_GATHER_FOR(6) {
    const int32_t row = t0[i0] + t1[i1] + t2[i2] + t3[i3] + t4[i4] + t5[i5] + t6[i6];
    QK_GATHER_FOR(7) {
      memcpy(to, from + (size_t)(row + t7[i7]) * block, block);
      to += block;
    }
  }
}
