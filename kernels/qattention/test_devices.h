/* Bodies for GPUs against the portable one, over everything that a call may say. */
#ifndef QK_QATTENTION_TEST_DEVICES_H
#define QK_QATTENTION_TEST_DEVICES_H

#if defined(QK_TARGET_BLOCK)
#include "kernels/qattention/block.cu"
#define DEVICE_BODY qk_qattention_block
#define DEVICE_UNITS qk_qattention_block_units
#else
#include "kernels/qattention/mma.cu"
#define DEVICE_BODY qk_qattention_mma
#define DEVICE_UNITS qk_qattention_mma_units
#endif

/* A size: mostly small, sometimes at or about a multiple of `step`. */
static int32_t size_about(int32_t step, int32_t most) {
  const int32_t near = step * qk_random_in(1, 3) + qk_random_in(-1, 1);
  const int32_t size = qk_random_in(0, 2) == 0 ? near : qk_random_in(1, step);
  return size < most ? size : most;
}

/* Codes [batch, heads, rows, n] of a call, with gaps between rows or not, and one scale and zero
 * point, or one for each row, as parameters or as operands. */
typedef struct call_codes {
  uint8_t* codes;
  float* scales;
  int32_t* zeros;
  int32_t type, zero, per_row;
  float scale;
} call_codes;
static int32_t any_zero(int32_t type) {
  return type == QK_I8 ? qk_random_in(-128, 127) : qk_random_in(0, 255);
}
static call_codes call_codes_of(int32_t batch, int32_t heads, int32_t rows, int32_t n, int32_t* at,
                                int32_t* scales_at, int32_t* zeros_at) {
  const int way = qk_random_in(0, 3); /* parameters, without zero points, operands, one per row */
  const int together = qk_random_in(0, 1), gap = qk_random_in(0, 2) ? 0 : qk_random_in(1, 16);
  const int32_t row = n + gap, count = way == 3 ? batch * heads * rows : 1;
  call_codes c = {0};
  c.type = qk_random_in(0, 1) ? QK_I8 : QK_U8;
  c.per_row = way == 3;
  c.zero = way == 1 ? (c.type == QK_I8 ? 0 : 128) : any_zero(c.type);
  c.scale = 0.002f + 0.001f * qk_random_float();
  at[0] = heads * rows * row;
  at[1] = together ? row : rows * row;
  at[2] = together ? heads * row : row;
  scales_at[0] = c.per_row ? heads * rows : 0;
  scales_at[1] = c.per_row ? (together ? 1 : rows) : 0;
  scales_at[2] = c.per_row ? (together ? heads : 1) : 0;
  {
    const int apart = qk_random_in(0, 1); /* zero points may lie otherwise than scales */
    zeros_at[0] = scales_at[0];
    zeros_at[1] = c.per_row ? (apart ? rows : 1) : 0;
    zeros_at[2] = c.per_row ? (apart ? 1 : heads) : 0;
  }
  c.codes =
      qk_random_bytes((size_t)batch * (size_t)heads * (size_t)rows * (size_t)row - (size_t)gap);
  if (way < 2) return c;
  c.scales = qk_random_floats((size_t)count);
  for (int32_t i = 0; i < count; ++i) c.scales[i] = 0.004f + 0.003f * c.scales[i];
  if (qk_random_in(0, 3) == 0) return c;
  c.zeros = (int32_t*)(void*)qk_random_floats((size_t)count);
  for (int32_t i = 0; i < count; ++i) c.zeros[i] = any_zero(c.type);
  return c;
}

static void masks_of(qk_qattention_params* p, uint8_t** keep, float** add) {
  const int32_t sizes[4] = {p->batch, p->heads, p->queries, p->keys};
  int32_t count = 1;
  for (int axis = 3; axis >= 0; --axis) {
    const int there = qk_random_in(0, 3) > 0;
    p->mask[axis] = there ? count : 0;
    if (there) count *= sizes[axis];
  }
  if (qk_random_in(0, 2) == 0) {
    *keep = qk_random_bytes((size_t)count);
    for (int32_t i = 0; i < count; ++i) (*keep)[i] = qk_random_in(0, 4) > 0;
  }
  if (qk_random_in(0, 2) == 0) {
    *add = qk_random_floats((size_t)count);
    for (int32_t i = 0; i < count; ++i) (*add)[i] = qk_random_in(0, 9) ? (*add)[i] : -INFINITY;
  }
}

static qk_qattention_params device_params(int i) {
  qk_qattention_params p = {0};
  p.batch = qk_random_in(1, 2);
  p.kv_heads = qk_random_in(1, 2);
  p.heads = p.kv_heads * qk_random_in(1, 3);
  p.queries = i % 7 == 0 ? 1 : size_about(32, 300);
  p.keys = i % 11 == 0 ? 1 : i % 13 == 0 ? size_about(1024, 2300) : size_about(96, 400);
  p.depth = size_about(64, 256);
  p.value_depth = size_about(48, 300);
  p.left = i % 4 == 1 ? qk_random_in(0, p.keys) : -1;
  p.right = i % 3 == 1 ? qk_random_in(0, p.keys) : -1;
  p.offset = qk_random_in(-p.queries / 2, p.keys);
  if (i % 3 == 1 && i % 2) p.right = p.offset = 0;
  p.rows = 8;
  p.scale = 0.1f;
  p.softcap = i % 5 == 2 ? 2.0f : 0.0f;
  p.nan_rows = i % 2;
  p.y_type = i % 3 == 0 ? QK_F32 : i % 3 == 1 ? QK_I8 : qk_random_in(QK_U8, QK_U16);
  p.lo = p.y_type == QK_U8 || p.y_type == QK_U16 ? 0 : -128;
  p.hi = p.lo + 255;
  p.y_zero = (p.lo + p.hi) / 2 + qk_random_in(-20, 20);
  p.y_scale = 0.01f;
  p.quantize.mode = QK_NO_EPILOGUE;
  return p;
}

/* Any NaN equals any other. */
static void expect_floats(float* got, float* expected, size_t n, const int32_t* sizes, int count) {
  for (size_t i = 0; i < n; ++i) {
    if (got[i] != got[i] && expected[i] != expected[i]) got[i] = expected[i] = 0.0f;
  }
  qk_expect_same("floats of a GPU's body", got, expected, 4 * n, sizes, count);
}

static void check_device(int i) {
  qk_qattention_params p = device_params(i);
  const call_codes q =
      call_codes_of(p.batch, p.heads, p.queries, p.depth, p.q_at, p.q_scales_at, p.q_zeros_at);
  const call_codes k =
      call_codes_of(p.batch, p.kv_heads, p.keys, p.depth, p.k_at, p.k_scales_at, p.k_zeros_at);
  const call_codes v = call_codes_of(p.batch, p.kv_heads, p.keys, p.value_depth, p.v_at,
                                     p.v_scales_at, p.v_zeros_at);
  const int32_t row = p.value_depth + (i % 4 ? 0 : 3), together = i % 2;
  const size_t bytes = (size_t)(p.batch * p.heads * p.queries * row) * 4;
  uint8_t *y = qk_random_bytes(bytes), *expected = qk_random_bytes(bytes), *keep = 0;
  float* add = 0;
  const int32_t sizes[] = {i,        p.batch,   p.heads,       p.kv_heads, p.queries,
                           p.keys,   p.depth,   p.value_depth, p.left,     p.right,
                           p.offset, q.per_row, k.per_row,     v.per_row,  p.y_type};
  p.y_at[0] = p.heads * p.queries * row;
  p.y_at[1] = together ? row : p.queries * row;
  p.y_at[2] = together ? p.heads * row : row;
  p.q_type = q.type;
  p.k_type = k.type;
  p.v_type = v.type;
  p.q_zero = q.zero;
  p.k_zero = k.zero;
  p.v_zero = v.zero;
  p.q_scale = q.scale;
  p.k_scale = k.scale;
  p.v_scale = v.scale;
  p.q_rows = q.per_row;
  p.k_rows = k.per_row;
  p.v_rows = v.per_row;
  masks_of(&p, &keep, &add);
  memcpy(y, expected, bytes);
  qk_qattention_i8(&p, q.codes, k.codes, v.codes, keep, add, q.scales, q.zeros, k.scales, k.zeros,
                   v.scales, v.zeros, 0, 0, expected, 0, 0, 0,
                   qk_random_floats((size_t)QK_QATTENTION_FLOATS(p.keys, p.value_depth, p.rows)),
                   (int16_t*)(void*)qk_random_floats(
                       (size_t)QK_QATTENTION_WORDS(p.keys, p.depth, p.value_depth, p.rows)));
  for (int64_t unit = DEVICE_UNITS(&p) - 1; unit >= 0; --unit)
    DEVICE_BODY(&p, unit, q.codes, k.codes, v.codes, keep, add, q.scales, q.zeros, k.scales,
                k.zeros, v.scales, v.zeros, y);
  if (p.y_type == QK_F32) {
    expect_floats((float*)(void*)y, (float*)(void*)expected, bytes / 4, sizes, 15);
  } else {
    qk_expect_same("codes of a GPU's body", y, expected, bytes, sizes, 15);
  }
}

#endif
