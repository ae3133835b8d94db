/* Bodies for CUDA whose warps multiply on tensor cores, for GPUs from sm_80 on. What lanes hold is
 * an array whose last index is the lane: QK_EACH_LANE says what each does with its own, and the
 * functions below are what they do together. On a GPU such an array has one element, a register;
 * compilers without CUDA compute the lanes of a warp, and the warps of a block, one after another,
 * so the same text is tested there. A body's warps meet at QK_BLOCK_SYNC alone, and what a phase of
 * all threads (kernels/common/thread_block.h) leaves in shared memory may be made again for each
 * warp. */
#ifndef QK_WARP_H
#define QK_WARP_H

#include "kernels/common/thread_block.h"

#if defined(__CUDA_ARCH__)
#define QK_WARP_LANES 1
#define QK_REGISTERS _Pragma("unroll") /* a loop over registers */
#define QK_NO_REGISTERS _Pragma("unroll 1")
#define QK_EACH_WARP(w) \
  for (int32_t w = (int32_t)threadIdx.x >> 5, qk_once = 1; qk_once; qk_once = 0)
#define QK_EACH_LANE(i) for (int32_t i = 0; i < 1; ++i)
#define QK_WARP_WAIT __syncwarp();
#else
#define QK_WARP_LANES 32
#define QK_REGISTERS
#define QK_NO_REGISTERS
#define QK_EACH_WARP(w) for (int32_t w = 0; w < QK_THREAD_BLOCK / 32; ++w)
#define QK_EACH_LANE(i) for (int32_t i = 0; i < 32; ++i)
#define QK_WARP_WAIT
#endif

/* The number of the lane whose registers have index i. */
QK_UNIT int32_t qk_lane(int32_t i) {
#if defined(__CUDA_ARCH__)
  return ((int32_t)threadIdx.x & 31) + i;
#else
  return i;
#endif
}

#if defined(__CUDA_ARCH__)
QK_UNIT void qk_mma_load4(uint32_t* r, uint32_t from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(from));
}
QK_UNIT void qk_mma_add(int32_t* c, const uint32_t* a, const uint32_t* b, int without_sign) {
  if (without_sign) {
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
}
#endif

/* Four matrices of 8 rows of 16 bytes: the rows of matrix m begin where lanes 8 m .. 8 m + 7 say,
 * bytes from `memory` on. Register m of a lane is word lane % 4 of row lane / 4 of matrix m. */
QK_UNIT void qk_warp_load4(uint32_t (*r)[QK_WARP_LANES], const unsigned char* memory,
                           const int32_t* at) {
#if defined(__CUDA_ARCH__)
  qk_mma_load4(&r[0][0], (uint32_t)__cvta_generic_to_shared(memory) + (uint32_t)at[0]);
#else
  for (int32_t m = 0; m < 4; ++m) {
    for (int32_t lane = 0; lane < QK_WARP_LANES; ++lane)
      memcpy(&r[m][lane], memory + at[8 * m + lane / 4] + lane % 4 * 4, 4);
  }
#endif
}

/* Adds products of a, 16 rows of 32 codes, and b, 8 columns of 32 codes with a sign, to c. Words of
 * four codes: a[0], a[1], a[2] and a[3] of lane 4 g + q are codes 4 q of rows g and g + 8, then
 * codes 16 + 4 q; b[0] and b[1] codes 4 q and 16 + 4 q of column g. Sums: c[0] and c[1] are columns
 * 2 q and 2 q + 1 of row g, c[2] and c[3] those of row g + 8. */
QK_UNIT void qk_warp_multiply(int32_t (*c)[QK_WARP_LANES], uint32_t (*a)[QK_WARP_LANES],
                              uint32_t (*b)[QK_WARP_LANES], int without_sign) {
#if defined(__CUDA_ARCH__)
  qk_mma_add(&c[0][0], &a[0][0], &b[0][0], without_sign);
#else
  for (int32_t lane = 0; lane < QK_WARP_LANES; ++lane) {
    for (int32_t r = 0; r < 4; ++r) {
      const int32_t row = lane / 4, column = lane % 4 * 2 + r % 2;
      uint32_t sum = (uint32_t)c[r][lane];
      for (int32_t k = 0; k < 32; ++k) {
        const uint32_t x = a[k / 16 * 2 + r / 2][row * 4 + k % 16 / 4] >> (k % 4 * 8) & 0xff;
        const uint32_t y = b[k / 16][column * 4 + k % 16 / 4] >> (k % 4 * 8) & 0xff;
        sum += (uint32_t)((without_sign ? (int32_t)x : (int32_t)(int8_t)x) * (int32_t)(int8_t)y);
      }
      c[r][lane] = (int32_t)sum;
    }
  }
#endif
}

/* What the lane whose number differs in the bits of `mask` has. */
QK_UNIT void qk_warp_swapped(const float* x, int32_t mask, float* y) {
#if defined(__CUDA_ARCH__)
  y[0] = __shfl_xor_sync(0xffffffffu, x[0], mask);
#else
  for (int32_t lane = 0; lane < QK_WARP_LANES; ++lane) y[lane] = x[lane ^ mask];
#endif
}
/* Adds what the other lanes of four have. */
QK_UNIT void qk_warp_add_four(int32_t* x) {
#if defined(__CUDA_ARCH__)
  x[0] += __shfl_xor_sync(0xffffffffu, x[0], 1);
  x[0] += __shfl_xor_sync(0xffffffffu, x[0], 2);
#else
  for (int32_t lane = 0; lane < QK_WARP_LANES; lane += 4)
    x[lane] = x[lane + 1] = x[lane + 2] = x[lane + 3] =
        x[lane] + x[lane + 1] + x[lane + 2] + x[lane + 3];
#endif
}

/* Four bytes of those of a (0 to 3) and b (4 to 7), the lowest named by the lowest digit. */
QK_UNIT uint32_t qk_picked_bytes(uint32_t a, uint32_t b, uint32_t which) {
#if defined(__CUDA_ARCH__)
  return __byte_perm(a, b, which);
#else
  const uint64_t all = (uint64_t)b << 32 | a;
  uint32_t out = 0;
  for (int32_t i = 0; i < 4; ++i)
    out |= (uint32_t)(all >> ((which >> (4 * i) & 7) * 8) & 0xff) << (8 * i);
  return out;
#endif
}
/* A sum, and four bytes without a sign. */
QK_UNIT int32_t qk_bytes_added(uint32_t bytes, int32_t sum) {
#if defined(__CUDA_ARCH__)
  asm("dp4a.u32.u32 %0, %1, %2, %0;" : "+r"(sum) : "r"(bytes), "r"(0x01010101u));
  return sum;
#else
  return sum +
         (int32_t)((bytes & 0xff) + (bytes >> 8 & 0xff) + (bytes >> 16 & 0xff) + (bytes >> 24));
#endif
}
/* Four rows of four bytes become their columns. */
QK_UNIT void qk_transpose_bytes(uint32_t* w) {
  const uint32_t a = qk_picked_bytes(w[0], w[1], 0x5140), b = qk_picked_bytes(w[2], w[3], 0x5140);
  const uint32_t c = qk_picked_bytes(w[0], w[1], 0x7362), d = qk_picked_bytes(w[2], w[3], 0x7362);
  w[0] = qk_picked_bytes(a, b, 0x5410);
  w[1] = qk_picked_bytes(a, b, 0x7632);
  w[2] = qk_picked_bytes(c, d, 0x5410);
  w[3] = qk_picked_bytes(c, d, 0x7632);
}

#endif
