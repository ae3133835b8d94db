/* How the test of this folder calls the bodies that it is about: those of the target that is
 * defined, QK_TARGET_PORTABLE and devices (QK_TARGET_CUDA, _DP4A, _MMA, one unit after another on
 * this machine) among them. */
#ifndef QK_QGEMM_TEST_BODIES_H
#define QK_QGEMM_TEST_BODIES_H

#include "kernels/qgemm/qgemm.h"

/* A product as ops call it. */
typedef struct operands {
  uint8_t* x;
  uint8_t* w; /* [n][k] or [k][n] */
  int32_t n_stride, k_stride, flip;
  int32_t* bias;
  float *multipliers, *float_bias, *x_scales;
  int32_t *x_zeros, *w_zeros, *y_zeros;
  uint8_t *residual, *y, *expected, *blob;
} operands;

/* Each target has blob_bytes and pack_blob: how much room its weights take, and how they get there;
 * list_operands and compute: the operands as its kernel names them, and the call; UNITS and
 * SUBRANGE, which split calls (a device computes unit by unit, here the last one first); MOST_BATCH
 * and TAKES_W_ZEROS: which calls there are. */

#if defined(QK_TARGET_PORTABLE)
#include "kernels/qgemm/portable.c"
#include "kernels/qgemm/split.c"
#define UNITS qk_qgemm_panels_units
#define SUBRANGE qk_qgemm_panels_subrange
#define MOST_BATCH 3
#define TAKES_W_ZEROS 1

static size_t blob_bytes(const qk_qgemm_params* p, const operands* o) {
  (void)o;
  return (size_t)((p->n + 15) / 16) * (size_t)((p->k + 1) / 2) * 32;
}
static void pack_blob(const qk_qgemm_params* p, const operands* o) {
  const qk_qgemm_pack_params pack = {1, p->k, p->n, 0, o->k_stride, o->n_stride, o->flip};
  qk_qgemm_pack(&pack, o->w, o->blob);
}
static void list_operands(const operands* o, const void** in) {
  const void* all[10] = {o->x,       o->blob,     o->bias,    o->multipliers, o->float_bias,
                         o->w_zeros, o->x_scales, o->x_zeros, o->residual,    o->y_zeros};
  memcpy(in, all, sizeof all);
}
static void compute(const qk_qgemm_params* p, const void* const* in, void* y) {
  qk_qgemm(p, in[0], (const int8_t*)in[1], (const int32_t*)in[2], in[3], (const float*)in[4],
           (const int32_t*)in[5], (const float*)in[6], (const int32_t*)in[7], in[8],
           (const int32_t*)in[9], y);
}

#elif defined(QK_TARGET_CUDA) || defined(QK_TARGET_DP4A) || defined(QK_TARGET_MMA)
#include <stddef.h>
#if defined(QK_TARGET_CUDA)
#include "kernels/qgemm/cuda.cu"
#define MOST_BATCH 3
#define TAKES_W_ZEROS 1
typedef qk_qgemm_call device_params;
#else
#if defined(QK_TARGET_DP4A)
#include "kernels/qtile/dp4a.cu"
#else
#include "kernels/qtile/mma.cu"
#endif
#include "kernels/qtile/mma_pack.h"
#define MOST_BATCH 1
#define TAKES_W_ZEROS 0
typedef qk_qtile_params device_params;
#endif

/* Members that both structs end with. */
_Static_assert(sizeof(qk_qgemm_params) - offsetof(qk_qgemm_params, per_row) ==
                   sizeof(device_params) - offsetof(device_params, per_row),
               "the structs end alike");
static device_params device_params_of(const qk_qgemm_params* p, const operands* o) {
  device_params to;
  memset(&to, 0, sizeof to);
  memcpy((char*)&to + offsetof(device_params, per_row),
         (const char*)p + offsetof(qk_qgemm_params, per_row),
         sizeof *p - offsetof(qk_qgemm_params, per_row));
#if defined(QK_TARGET_CUDA)
  to.batch = p->batch;
  to.m = p->m;
  to.n = p->n;
  to.k = p->k;
  to.x_batch = p->x_batch;
  to.y_batch = p->y_batch;
  to.w_k = o->k_stride;
  to.w_n = o->n_stride;
  to.flip = o->flip;
#else
  (void)o;
  to.n = p->m;
  to.ic = p->k;
  to.oc = p->n;
  for (int i = 0; i < 3; ++i) {
    to.in[i] = to.out[i] = to.k[i] = to.stride[i] = to.dilation[i] = 1;
  }
#if defined(QK_TARGET_DP4A)
  to.shape = QK_MMA_SHAPES;
#else
  to.shape = (p->m + p->n + p->k) % QK_MMA_SHAPES;
#endif
#endif
  return to;
}

static const operands* computed; /* of the call that is checked */
static void list_operands(const operands* o, const void** in) {
  (void)in;
  computed = o;
}

#if defined(QK_TARGET_CUDA)
static size_t blob_bytes(const qk_qgemm_params* p, const operands* o) {
  (void)p;
  (void)o;
  return 0;
}
static void pack_blob(const qk_qgemm_params* p, const operands* o) {
  (void)p;
  (void)o;
}
static void compute(const qk_qgemm_params* p, const void* const* in, void* y) {
  const operands* o = computed;
  const device_params own = device_params_of(p, o);
  (void)in;
  for (int64_t unit = qk_qgemm_cuda_units(&own) - 1; unit >= 0; --unit) {
    qk_qgemm_cuda(&own, unit, o->x, o->w, o->bias, o->multipliers, o->float_bias, o->w_zeros,
                  o->x_scales, o->x_zeros, o->residual, o->y_zeros, y);
  }
}
#else
#if defined(QK_TARGET_DP4A)
#define BODY qk_qtile_dp4a
#define BODY_UNITS qk_qtile_dp4a_units
#else
#define BODY qk_qtile_mma
#define BODY_UNITS qk_qtile_mma_units
#endif
static size_t blob_bytes(const qk_qgemm_params* p, const operands* o) {
  const device_params own = device_params_of(p, o);
  return (size_t)qk_mma_packed_bytes(&own);
}
static void pack_blob(const qk_qgemm_params* p, const operands* o) {
  const device_params own = device_params_of(p, o);
  const qk_mma_weights from = {1, o->n_stride, 0, o->k_stride, o->flip};
  qk_mma_pack(&own, &from, o->w, o->blob);
}
static void compute(const qk_qgemm_params* p, const void* const* in, void* y) {
  const operands* o = computed;
  const device_params own = device_params_of(p, o);
  (void)in;
  for (int64_t unit = BODY_UNITS(&own) - 1; unit >= 0; --unit) {
    BODY(&own, unit, o->x, o->blob, o->bias, o->multipliers, o->float_bias, o->x_scales, o->x_zeros,
         o->residual, o->y_zeros, y);
  }
}
#endif

#else
#include "kernels/qgemm/split.c"
#include "kernels/qgemm/tested.h"
#include "kernels/qtile/accepts.h"
#define MOST_BATCH 3
#define TAKES_W_ZEROS 1

static qk_pack_params pack_params_of(const qk_qgemm_params* p, const operands* o) {
  const qk_pack_params pack = {1, p->n, p->k, {1, 1, 1}, 0, o->n_stride, 0, o->k_stride, o->flip};
  return pack;
}
static size_t blob_bytes(const qk_qgemm_params* p, const operands* o) {
  const qk_panels panels_of = PANELS;
  const qk_pack_params pack = pack_params_of(p, o);
  const qk_packed_call call = {.x_type = p->x_type,
                               .x_zero = p->x_zero,
                               .has_float_bias = o->float_bias != 0,
                               .has_x_scales = o->x_scales != 0,
                               .has_x_zeros = o->x_zeros != 0,
                               .per_row = p->per_row,
                               .has_residual = o->residual != 0};
  if (!qk_packed_accepts(&call, &p->epilogue)) {
    fprintf(stderr, "a product is not accepted\n");
    exit(1);
  }
  return (size_t)qk_packed_size(panels_of, &pack);
}
static void pack_blob(const qk_qgemm_params* p, const operands* o) {
  const qk_panels panels_of = PANELS;
  const qk_pack_params pack = pack_params_of(p, o);
  qk_pack(panels_of, &pack, o->w, o->bias, o->multipliers, o->float_bias, o->blob);
}
static void list_operands(const operands* o, const void** in) {
  const void* all[8] = {o->x,        o->blob, o->x_scales, o->x_zeros,
                        o->residual, 0,       o->w_zeros,  o->y_zeros};
  memcpy(in, all, sizeof all);
}
static void compute(const qk_qgemm_params* p, const void* const* in, void* y) {
  BODY(p, in[0], in[1], in[2], in[3], in[4], in[5], in[6], in[7], y);
}
#endif

#endif
