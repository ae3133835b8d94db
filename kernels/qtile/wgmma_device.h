/* What the tensor cores of sm_90a multiply: tiles in shared memory, by groups of four warps, while
 * the same threads copy the next ones. For nvcc. */
#ifndef QK_QTILE_WGMMA_DEVICE_H
#define QK_QTILE_WGMMA_DEVICE_H

#include "kernels/qtile/mma_results.h"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

#define QK_WG_8(d, i)                                                                         \
  "+r"(d[i]), "+r"(d[i + 1]), "+r"(d[i + 2]), "+r"(d[i + 3]), "+r"(d[i + 4]), "+r"(d[i + 5]), \
      "+r"(d[i + 6]), "+r"(d[i + 7])
#define QK_WG_32(d, i) QK_WG_8(d, i), QK_WG_8(d, i + 8), QK_WG_8(d, i + 16), QK_WG_8(d, i + 24)
#define QK_WG_NAMES_32                                                                         \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, " \
  "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define QK_WG_NAMES_64                                                                          \
  QK_WG_NAMES_32                                                                                \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49," \
  " %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define QK_WG_NAMES_96                                                                          \
  QK_WG_NAMES_64                                                                                \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81," \
  " %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
/* Adds to accumulators of 64 rows and `columns`, what a tile's 32 terms give. */
#define QK_WG_MULTIPLY(columns, sign, names, a, b)                                         \
  "{\n.reg .pred p;\nsetp.eq.b32 p, 0, 0;\n"                                               \
  "wgmma.mma_async.sync.aligned.m64n" columns "k32.s32." sign ".s8 {" names "}, " a ", " b \
  ", p;\n}"

/* Adds products of 64 rows at `a` and 64 `groups` columns at `b`, 32 terms each. Accumulators are
 * not to be touched until they are awaited. */
QK_UNIT void qk_wg_multiply(int32_t* d, int32_t groups, uint64_t a, uint64_t b, int without_sign) {
  if (groups == 3 && without_sign) {
    asm volatile(QK_WG_MULTIPLY("192", "u8", QK_WG_NAMES_96, "%96", "%97")
                 : QK_WG_32(d, 0), QK_WG_32(d, 32), QK_WG_32(d, 64)
                 : "l"(a), "l"(b));
  } else if (groups == 3) {
    asm volatile(QK_WG_MULTIPLY("192", "s8", QK_WG_NAMES_96, "%96", "%97")
                 : QK_WG_32(d, 0), QK_WG_32(d, 32), QK_WG_32(d, 64)
                 : "l"(a), "l"(b));
  } else if (groups == 2 && without_sign) {
    asm volatile(QK_WG_MULTIPLY("128", "u8", QK_WG_NAMES_64, "%64", "%65")
                 : QK_WG_32(d, 0), QK_WG_32(d, 32)
                 : "l"(a), "l"(b));
  } else if (groups == 2) {
    asm volatile(QK_WG_MULTIPLY("128", "s8", QK_WG_NAMES_64, "%64", "%65")
                 : QK_WG_32(d, 0), QK_WG_32(d, 32)
                 : "l"(a), "l"(b));
  } else if (without_sign) {
    asm volatile(QK_WG_MULTIPLY("64", "u8", QK_WG_NAMES_32, "%32", "%33")
                 : QK_WG_32(d, 0)
                 : "l"(a), "l"(b));
  } else {
    asm volatile(QK_WG_MULTIPLY("64", "s8", QK_WG_NAMES_32, "%32", "%33")
                 : QK_WG_32(d, 0)
                 : "l"(a), "l"(b));
  }
}
/* How tensor cores find rows of `chunk` bytes from `at` on, whose 16-byte vectors are swizzled like
 * those of qk_mma_at. 32 terms further is 2 more. */
QK_UNIT uint64_t qk_wg_descriptor(uint32_t at, int32_t chunk) {
  const uint64_t swizzle = chunk == 128 ? 1 : 2;
  return (uint64_t)((at & 0x3ffff) >> 4) | (uint64_t)1 << 16 |
         (uint64_t)(uint32_t)(chunk * 8 >> 4) << 32 | swizzle << 62;
}
/* Compilers keep accumulators where they are until here. */
QK_UNIT void qk_wg_keep(int32_t* d, int32_t count) {
#pragma unroll
  for (int32_t i = 0; i < count; ++i) asm volatile("" : "+r"(d[i])::"memory");
}

/* The first row and column of a warp's part of a tile; of its rows it has 16 of every 64. */
QK_UNIT qk_mma_warp_tile qk_wg_warp_of(const qk_mma_shape shape) {
  const int32_t warp = (int32_t)threadIdx.x >> 5, high = shape.warps_m / 4;
  qk_mma_warp_tile own_warp;
  own_warp.lane = (int32_t)threadIdx.x & 31;
  own_warp.row = warp / 4 % high * (shape.rows / high);
  own_warp.column = warp / 4 / high * (shape.columns / shape.warps_n);
  own_warp.k_step = 0;
  own_warp.k_steps = 1;
  return own_warp;
}

/* Where a thread writes what it has of the i-th 64 rows and columns of its part; there are `groups`
 * side by side. */
QK_UNIT qk_mma_writing qk_wg_writing(qk_mma_writing w, int32_t i, int32_t groups) {
  w.row += i / groups * 64;
  w.n += i % groups * 64;
  return w;
}

/* Waits until a chunk is in shared memory and nobody reads the one before the last. */
QK_UNIT void qk_wg_await(const qk_mma_shape shape) {
  if (shape.stages == 6) {
    asm volatile("cp.async.wait_group 3;" ::: "memory");
  } else if (shape.stages == 4) {
    asm volatile("cp.async.wait_group 1;" ::: "memory");
  } else {
    asm volatile("cp.async.wait_group 0;" ::: "memory");
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
}

/* Multiplies a chunk. */
QK_UNIT void qk_wg_chunk(const qk_mma_shape shape, const qk_mma_warp_tile own_warp, uint32_t from,
                         int without_sign, int32_t (*accumulators)[8][4]) {
  const int32_t blocks = shape.rows / (shape.warps_m / 4) / 64;
  const int32_t groups = shape.columns / shape.warps_n / 64;
  const uint64_t a = qk_wg_descriptor(from + (uint32_t)(own_warp.row * shape.chunk), shape.chunk);
  const uint64_t b = qk_wg_descriptor(
      from + (uint32_t)((shape.rows + own_warp.column) * shape.chunk), shape.chunk);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
  for (int32_t k = 0; k < shape.chunk / 32; ++k) {
#pragma unroll
    for (int32_t m = 0; m < blocks; ++m)
      qk_wg_multiply(&accumulators[m * groups][0][0], groups,
                     a + (uint64_t)(uint32_t)(m * 64 * shape.chunk / 16 + 2 * k),
                     b + (uint64_t)(uint32_t)(2 * k), without_sign);
  }
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

#endif
#endif
