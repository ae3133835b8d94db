#include <stddef.h>
#include <string.h>

#include "kernels/common/body.h"
#include "kernels/common/inline.h"
#include "kernels/numerics/combine.h"
#include "kernels/scatter/scatter.h"

#define QK_SCATTER_FOR(d) for (int32_t i##d = 0; i##d < p->dims[d]; ++i##d)

#define QK_SCATTER_COPY(SIZE, y, at, u, from, n) \
  memcpy((unsigned char*)y + (at)*SIZE, (const unsigned char*)u + (from)*SIZE, (size_t)(n)*SIZE);
#define QK_SCATTER_COPY_1(y, at, u, from, n) QK_SCATTER_COPY(1, y, at, u, from, n)
#define QK_SCATTER_COPY_2(y, at, u, from, n) QK_SCATTER_COPY(2, y, at, u, from, n)
#define QK_SCATTER_COPY_4(y, at, u, from, n) QK_SCATTER_COPY(4, y, at, u, from, n)
#define QK_SCATTER_COPY_8(y, at, u, from, n) QK_SCATTER_COPY(8, y, at, u, from, n)
#define QK_WITH 1, void, 1, QK_SCATTER_COPY_1
#include "kernels/scatter/body.inc"
#define QK_WITH 2, void, 2, QK_SCATTER_COPY_2
#include "kernels/scatter/body.inc"
#define QK_WITH 4, void, 4, QK_SCATTER_COPY_4
#include "kernels/scatter/body.inc"
#define QK_WITH 8, void, 8, QK_SCATTER_COPY_8
#include "kernels/scatter/body.inc"

#define QK_SCATTER_COMBINE(suffix, y, at, u, from, n)                      \
  for (int32_t k = 0; k < (n); ++k) {                                      \
    y[(at) + k] = qn_combine_##suffix(p->how, y[(at) + k], u[(from) + k]); \
  }
#define QK_SCATTER_F32(y, at, u, from, n) QK_SCATTER_COMBINE(f32, y, at, u, from, n)
#define QK_SCATTER_F64(y, at, u, from, n) QK_SCATTER_COMBINE(f64, y, at, u, from, n)
#define QK_SCATTER_F16(y, at, u, from, n) QK_SCATTER_COMBINE(f16, y, at, u, from, n)
#define QK_SCATTER_BF16(y, at, u, from, n) QK_SCATTER_COMBINE(bf16, y, at, u, from, n)
#define QK_SCATTER_I8(y, at, u, from, n) QK_SCATTER_COMBINE(i8, y, at, u, from, n)
#define QK_SCATTER_I16(y, at, u, from, n) QK_SCATTER_COMBINE(i16, y, at, u, from, n)
#define QK_SCATTER_I32(y, at, u, from, n) QK_SCATTER_COMBINE(i32, y, at, u, from, n)
#define QK_SCATTER_I64(y, at, u, from, n) QK_SCATTER_COMBINE(i64, y, at, u, from, n)
#define QK_SCATTER_U8(y, at, u, from, n) QK_SCATTER_COMBINE(u8, y, at, u, from, n)
#define QK_SCATTER_U16(y, at, u, from, n) QK_SCATTER_COMBINE(u16, y, at, u, from, n)
#define QK_SCATTER_U32(y, at, u, from, n) QK_SCATTER_COMBINE(u32, y, at, u, from, n)
#define QK_SCATTER_U64(y, at, u, from, n) QK_SCATTER_COMBINE(u64, y, at, u, from, n)
#define QK_WITH f32, float, 4, QK_SCATTER_F32
#include "kernels/scatter/body.inc"
#define QK_WITH f64, double, 8, QK_SCATTER_F64
#include "kernels/scatter/body.inc"
#define QK_WITH f16, uint16_t, 2, QK_SCATTER_F16
#include "kernels/scatter/body.inc"
#define QK_WITH bf16, uint16_t, 2, QK_SCATTER_BF16
#include "kernels/scatter/body.inc"
#define QK_WITH i8, int8_t, 1, QK_SCATTER_I8
#include "kernels/scatter/body.inc"
#define QK_WITH i16, int16_t, 2, QK_SCATTER_I16
#include "kernels/scatter/body.inc"
#define QK_WITH i32, int32_t, 4, QK_SCATTER_I32
#include "kernels/scatter/body.inc"
#define QK_WITH i64, int64_t, 8, QK_SCATTER_I64
#include "kernels/scatter/body.inc"
#define QK_WITH u8, uint8_t, 1, QK_SCATTER_U8
#include "kernels/scatter/body.inc"
#define QK_WITH u16, uint16_t, 2, QK_SCATTER_U16
#include "kernels/scatter/body.inc"
#define QK_WITH u32, uint32_t, 4, QK_SCATTER_U32
#include "kernels/scatter/body.inc"
#define QK_WITH u64, uint64_t, 8, QK_SCATTER_U64
#include "kernels/scatter/body.inc"
