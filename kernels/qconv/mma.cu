/* A unit is a tile of outputs, which 256 threads compute together. Compilers without CUDA compute
 * it plainly, from the same packed weights. */
#include "kernels/common/cuda.h"
#include "kernels/qconv/mma.h"
#include "kernels/qgemm/output.h"

#define QK_MMA_K 64 /* bytes of a row of a tile that lie in shared memory at a time */
#define QK_MMA_STAGES 3

QK_UNIT int64_t qk_mma_rows(const qk_qconv_mma_params* p) {
  return (int64_t)p->n * p->out[0] * p->out[1] * p->out[2];
}
QK_UNIT int32_t qk_mma_columns(const qk_qconv_mma_params* p) {
  return (p->oc + p->tile - 1) / p->tile;
}
QK_UNIT int64_t qk_qconv_mma_units(const qk_qconv_mma_params* p) {
  return (qk_mma_rows(p) + p->tile - 1) / p->tile * qk_mma_columns(p);
}
/* Terms of a sum as they are packed. */
QK_UNIT int32_t qk_mma_depth(const qk_qconv_mma_params* p) {
  return (p->k[0] * p->k[1] * p->k[2] * p->ic + QK_MMA_K - 1) / QK_MMA_K * QK_MMA_K;
}

/* Where the window of an output position begins: its image and the input at its first tap. */
typedef struct qk_mma_window {
  int64_t image;
  int32_t at[3];
} qk_mma_window;

QK_UNIT qk_mma_window qk_mma_window_of(const qk_qconv_mma_params* p, int64_t row) {
  qk_mma_window w;
  int64_t rest = row;
  for (int i = 2; i >= 0; --i) {
    w.at[i] = (int32_t)(rest % p->out[i]) * p->stride[i] - p->pad[i];
    rest /= p->out[i];
  }
  w.image = rest;
  return w;
}
/* The place in x of term k of a window; -1 where that is padding or no term. */
QK_UNIT int64_t qk_mma_source(const qk_qconv_mma_params* p, const qk_mma_window* w, int32_t k) {
  int32_t tap = k / p->ic;
  const int32_t c = k - tap * p->ic;
  const int32_t v = w->at[2] + tap % p->k[2] * p->dilation[2];
  tap /= p->k[2];
  const int32_t h = w->at[1] + tap % p->k[1] * p->dilation[1];
  const int32_t d = w->at[0] + tap / p->k[1] * p->dilation[0];
  const int inside = tap < p->k[0] * p->k[1] && w->image < p->n && d >= 0 && d < p->in[0] &&
                     h >= 0 && h < p->in[1] && v >= 0 && v < p->in[2];
  if (!inside) return -1;
  return (((w->image * p->in[0] + d) * p->in[1] + h) * p->in[2] + v) * p->ic + c;
}

/* A complete sum of products: zero points, bias and epilogue. */
QK_UNIT void qk_mma_store(const qk_qconv_mma_params* p, const qk_q_output* to, int32_t sum,
                          int64_t row, int32_t n, const int32_t* bias, const int32_t* sums,
                          const float* x_scales, const int32_t* x_zeros, void* y) {
  const int64_t of = p->per_row ? row : 0;
  const uint32_t zero = (uint32_t)(x_zeros ? x_zeros[of] : p->x_zero);
  const uint32_t whole = (uint32_t)sum + (bias ? (uint32_t)bias[n] : 0) - zero * (uint32_t)sums[n];
  qk_q_store(to, (int32_t)whole, n, x_scales ? x_scales[of] : 1.0f, y,
             (ptrdiff_t)(row * p->oc + n));
}

#if defined(__CUDA_ARCH__)

/* Rows of 64 bytes, whose 16 bytes take turns, so that eight rows lie in different banks. */
QK_UNIT uint32_t qk_mma_place(int32_t row, int32_t chunk) {
  return (uint32_t)(row * QK_MMA_K + ((chunk ^ ((row >> 1) & 3)) << 4));
}
QK_UNIT void qk_mma_copy16(uint32_t to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from));
}
QK_UNIT void qk_mma_copy_bytes(uint32_t to, const uint8_t* from) {
#pragma unroll
  for (uint32_t i = 0; i < 16; ++i)
    asm volatile("st.shared.u8 [%0], %1;" ::"r"(to + i), "r"((uint32_t)from[i]) : "memory");
}
QK_UNIT void qk_mma_fill16(uint32_t to, uint32_t word) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};" ::"r"(to), "r"(word) : "memory");
}
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

/* 16 terms of a window, each from its own place. */
QK_UNIT void qk_mma_gather16(const qk_qconv_mma_params* p, const qk_mma_window* w, const uint8_t* x,
                             int32_t k, uint32_t zeros, uint32_t to) {
  for (int32_t i = 0; i < 4; ++i) {
    uint32_t word = 0;
#pragma unroll
    for (int32_t j = 0; j < 4; ++j) {
      const int64_t from = qk_mma_source(p, w, k + i * 4 + j);
      word |= (from < 0 ? zeros & 0xff : (uint32_t)x[from]) << (8 * j);
    }
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(to + (uint32_t)i * 4), "r"(word) : "memory");
  }
}

/* One step of terms into shared memory at `to`: rows of x, then rows of w. A thread copies the same
 * 16 bytes of every 64th row. */
QK_UNIT void qk_mma_fetch(const qk_qconv_mma_params* p, const qk_mma_window* windows,
                          const uint8_t* x, const uint8_t* w, int32_t depth, int32_t step,
                          uint32_t zeros, int aligned, int32_t tile, uint32_t to) {
  const int32_t row = (int32_t)threadIdx.x >> 2, chunk = (int32_t)threadIdx.x & 3;
  const int32_t k = step * QK_MMA_K + chunk * 16;
  const int whole = p->ic % 16 == 0; /* 16 terms are neighbours in x */
#pragma unroll
  for (int32_t i = 0; i < tile / 64; ++i) {
    const uint32_t at = to + qk_mma_place(row + i * 64, chunk);
    const int64_t from = whole ? qk_mma_source(p, &windows[i], k) : -1;
    if (!whole) {
      qk_mma_gather16(p, &windows[i], x, k, zeros, at);
    } else if (from < 0) {
      qk_mma_fill16(at, zeros);
    } else if (aligned) {
      qk_mma_copy16(at, x + from);
    } else {
      qk_mma_copy_bytes(at, x + from);
    }
    qk_mma_copy16(to + (uint32_t)tile * QK_MMA_K + qk_mma_place(row + i * 64, chunk),
                  w + (int64_t)(row + i * 64) * depth + k);
  }
  asm volatile("cp.async.commit_group;");
}

/* The products of one step: a warp has tile / 2 rows and tile / 4 columns. */
QK_UNIT void qk_mma_multiply(int32_t (*sums)[4][4], uint32_t from, int32_t tile, int without_sign) {
  const int32_t lane = (int32_t)threadIdx.x & 31, warp = (int32_t)threadIdx.x >> 5;
  const int32_t first = (warp & 1) * (tile / 2), column = (warp >> 1) * (tile / 4);
#pragma unroll
  for (int32_t half = 0; half < 2; ++half) {
    uint32_t a[4][4], b[2][4];
#pragma unroll
    for (int32_t i = 0; i < tile / 32; ++i)
      qk_mma_load4(a[i], from + qk_mma_place(first + i * 16 + (lane & 15), half * 2 + (lane >> 4)));
#pragma unroll
    for (int32_t j = 0; j < tile / 64; ++j) {
      const int32_t row = column + j * 16 + (lane & 7) + ((lane >> 4) << 3);
      qk_mma_load4(
          b[j], from + (uint32_t)tile * QK_MMA_K + qk_mma_place(row, half * 2 + ((lane >> 3) & 1)));
    }
#pragma unroll
    for (int32_t i = 0; i < tile / 32; ++i) {
#pragma unroll
      for (int32_t j = 0; j < tile / 32; ++j)
        qk_mma_add(sums[i][j], a[i], &b[j >> 1][(j & 1) * 2], without_sign);
    }
  }
}

QK_UNIT void qk_mma_block(const qk_qconv_mma_params* p, int64_t unit, const uint8_t* x,
                          const uint8_t* w, const int32_t* bias, const int32_t* weight_sums,
                          const float* x_scales, const int32_t* x_zeros, const qk_q_output* to,
                          void* y, int32_t tile, unsigned char* shared) {
  const int32_t depth = qk_mma_depth(p), steps = depth / QK_MMA_K;
  const int64_t top = unit / qk_mma_columns(p) * tile;
  const int32_t left = (int32_t)(unit % qk_mma_columns(p)) * tile;
  const uint32_t memory = (uint32_t)__cvta_generic_to_shared(shared);
  const uint32_t stage = 2u * (uint32_t)tile * QK_MMA_K;
  /* Padding has the code of the zero point, of each image's only one. */
  const uint32_t zero = (uint32_t)(x_zeros ? *x_zeros : p->x_zero) & 0xff,
                 zeros = zero * 0x01010101u;
  const int without_sign = p->x_type == QK_U8, aligned = ((uintptr_t)x & 15) == 0;
  const uint8_t* wt = w + (int64_t)left * depth;
  qk_mma_window windows[2];
  int32_t sums[4][4][4] = {0};
#pragma unroll
  for (int32_t i = 0; i < tile / 64; ++i)
    windows[i] = qk_mma_window_of(p, top + ((int32_t)threadIdx.x >> 2) + i * 64);
#pragma unroll
  for (int32_t s = 0; s < QK_MMA_STAGES - 1; ++s) {
    if (s < steps) {
      qk_mma_fetch(p, windows, x, wt, depth, s, zeros, aligned, tile, memory + (uint32_t)s * stage);
    } else {
      asm volatile("cp.async.commit_group;");
    }
  }
  for (int32_t s = 0; s < steps; ++s) {
    asm volatile("cp.async.wait_group %0;" ::"n"(QK_MMA_STAGES - 2));
    __syncthreads();
    const int32_t next = s + QK_MMA_STAGES - 1;
    if (next < steps) {
      qk_mma_fetch(p, windows, x, wt, depth, next, zeros, aligned, tile,
                   memory + (uint32_t)(next % QK_MMA_STAGES) * stage);
    } else {
      asm volatile("cp.async.commit_group;");
    }
    qk_mma_multiply(sums, memory + (uint32_t)(s % QK_MMA_STAGES) * stage, tile, without_sign);
  }
  const int32_t lane = (int32_t)threadIdx.x & 31, warp = (int32_t)threadIdx.x >> 5;
  const int64_t row = top + (warp & 1) * (tile / 2) + (lane >> 2);
  const int32_t column = left + (warp >> 1) * (tile / 4) + (lane & 3) * 2;
#pragma unroll
  for (int32_t i = 0; i < tile / 32; ++i) {
#pragma unroll
    for (int32_t j = 0; j < tile / 32; ++j) {
#pragma unroll
      for (int32_t e = 0; e < 4; ++e) {
        const int64_t r = row + i * 16 + (e >> 1) * 8;
        const int32_t n = column + j * 8 + (e & 1);
        if (r < qk_mma_rows(p) && n < p->oc)
          qk_mma_store(p, to, sums[i][j][e], r, n, bias, weight_sums, x_scales, x_zeros, y);
      }
    }
  }
}

#endif

/* The output at (row, n), plainly. */
QK_UNIT void qk_mma_output(const qk_qconv_mma_params* p, const qk_q_output* to, int64_t row,
                           int32_t n, const void* x, const int8_t* w, const int32_t* bias,
                           const int32_t* weight_sums, const float* x_scales,
                           const int32_t* x_zeros, void* y) {
  const qk_mma_window window = qk_mma_window_of(p, row);
  const int32_t zero = x_zeros ? x_zeros[p->per_row ? row : 0] : p->x_zero;
  const int32_t depth = qk_mma_depth(p);
  uint32_t sum = 0;
  for (int32_t k = 0; k < depth; ++k) {
    const int64_t from = qk_mma_source(p, &window, k);
    const int32_t code = from < 0 ? zero : qk_load_code(x, p->x_type, (ptrdiff_t)from);
    sum += (uint32_t)code * (uint32_t)w[(int64_t)n * depth + k];
  }
  qk_mma_store(p, to, (int32_t)sum, row, n, bias, weight_sums, x_scales, x_zeros, y);
}

QK_UNIT void qk_qconv_mma(const qk_qconv_mma_params* p, int64_t unit, const void* x, const void* w,
                          const void* bias, const void* multipliers, const void* float_bias,
                          const void* x_scales, const void* x_zeros, const void* residual,
                          void* y) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#error "this code is for GPUs from sm_80 on: quantc compile --target cuda is for older ones"
#endif
  const qk_q_output to =
      QK_Q_OUTPUT(p, multipliers, (const float*)float_bias, x_scales != 0, residual);
  const int64_t rows = (int64_t)qk_mma_columns(p) * p->tile; /* of weights as they are packed */
  const int32_t* const sums = (const int32_t*)((const uint8_t*)w + rows * qk_mma_depth(p));
#if defined(__CUDA_ARCH__)
  __shared__ __align__(128) unsigned char shared[QK_MMA_STAGES * 2 * 128 * QK_MMA_K];
  if (p->tile == 128) {
    qk_mma_block(p, unit, (const uint8_t*)x, (const uint8_t*)w, (const int32_t*)bias, sums,
                 (const float*)x_scales, (const int32_t*)x_zeros, &to, y, 128, shared);
  } else {
    qk_mma_block(p, unit, (const uint8_t*)x, (const uint8_t*)w, (const int32_t*)bias, sums,
                 (const float*)x_scales, (const int32_t*)x_zeros, &to, y, 64, shared);
  }
#else
  const int64_t top = unit / qk_mma_columns(p) * p->tile;
  const int32_t left = (int32_t)(unit % qk_mma_columns(p)) * p->tile;
  for (int64_t row = top; row < top + p->tile && row < qk_mma_rows(p); ++row) {
    for (int32_t n = left; n < left + p->tile && n < p->oc; ++n)
      qk_mma_output(p, &to, row, n, x, (const int8_t*)w, (const int32_t*)bias, sums,
                    (const float*)x_scales, (const int32_t*)x_zeros, y);
  }
#endif
}
