/* Attention on codes against the formulas by plain loops: scales of tensors and of rows, heads that
 * share keys, windows, and sizes that fill no panel; masks, zero points of rows, unsigned codes,
 * several batches and many keys, in blocks of any size. Bodies for GPUs against the portable one.
 * Argument: how many calls these compute.
 *
 * run gcc PORTABLE
 * run gcc AVX2
 * run clang AVX512VNNI
 * run gcc BLOCK 300
 * run gcc MMA 300
 * soak clang MMA 5000
 * arithmetic.md: Q41, Q42 */
/* What names the instructions comes first. */
/* clang-format off */
#include "kernels/common/testing.h"
#include "kernels/common/plain.h"
#if defined(QK_TARGET_BLOCK) || defined(QK_TARGET_MMA)
#include "kernels/common/cuda.h"
#endif
#include "kernels/qattention/tested.h"
#if defined(QK_TARGET_BLOCK) || defined(QK_TARGET_MMA)
#include "kernels/qattention/test_devices.h"
#endif
/* clang-format on */

#if defined(QK_TARGET_BLOCK) || defined(QK_TARGET_MMA)

int main(int argc, char** argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 300;
  for (int i = 0; i < count; ++i) check_device(i);
  return 0;
}

#else

enum { kRows = 9 };

static float* positive(size_t n) {
  float* x = qk_random_floats(n);
  for (size_t i = 0; i < n; ++i) x[i] = 0.01f + 0.01f * (x[i] + 1.0f);
  return x;
}
static int8_t* codes(size_t n) {
  int8_t* x = (int8_t*)qk_random_floats((n + 3) / 4);
  for (size_t i = 0; i < n; ++i) x[i] = (int8_t)qk_random_in(-128, 127);
  return x;
}

/* One result by its formula; e has the row's exponentials, w their products with scales of v. */
static float result(const qk_qattention_params* p, const float* w, float sum, float largest,
                    const int8_t* v, float v_scale, int32_t d) {
  const float steps = 255.0f / largest;
  float by = largest / 255.0f / sum;
  int32_t total = 0;
  if (!p->v_rows) by *= v_scale;
  for (int32_t j = 0; j < p->keys; ++j) {
    total += qn_code(w[j] * steps, 0, 0, 255) * (v[j * p->value_depth + d] - p->v_zero);
  }
  return (float)total * by;
}

/* Strides of [heads, rows, n] and of scales of rows: densely, or with the heads of a row together.
 */
static void lie(int32_t* at, int32_t* scales_at, int32_t heads, int32_t rows, int32_t n,
                int together, int per_row) {
  at[0] = heads * rows * n;
  at[1] = together ? n : rows * n;
  at[2] = together ? heads * n : n;
  scales_at[0] = per_row ? heads * rows : 0;
  scales_at[1] = per_row ? (together ? 1 : rows) : 0;
  scales_at[2] = per_row ? (together ? heads : 1) : 0;
}
static void lie_so(qk_qattention_params* p, int together) {
  int32_t none[3];
  lie(p->q_at, p->q_scales_at, p->heads, p->queries, p->depth, together, p->q_rows);
  lie(p->k_at, p->k_scales_at, p->kv_heads, p->keys, p->depth, together, p->k_rows);
  lie(p->v_at, p->v_scales_at, p->kv_heads, p->keys, p->value_depth, together, p->v_rows);
  lie(p->y_at, none, p->heads, p->queries, p->value_depth, together, 0);
}
/* x [heads, rows, n] as [rows, heads, n], elements having `size` bytes. */
static void* together(const void* x, int32_t heads, int32_t rows, int32_t n, size_t size) {
  uint8_t* y = (uint8_t*)qk_random_floats((size_t)(heads * rows * n) * size / 4 + 1);
  const size_t row = (size_t)n * size;
  for (int32_t h = 0; h < heads; ++h) {
    for (int32_t r = 0; r < rows; ++r) {
      memcpy(y + (size_t)(r * heads + h) * row, (const uint8_t*)x + (size_t)(h * rows + r) * row,
             row);
    }
  }
  return y;
}

/* The same with the heads of a row together, and with rows of all heads as codes. */
static void check_strides(qk_qattention_params p, const int8_t* q, const int8_t* k, const int8_t* v,
                          const float* sq, const float* sk, const float* sv, const float* dense,
                          float* scores, int16_t* words, const int32_t* sizes) {
  const int32_t n = p.heads * p.value_depth;
  const size_t count = (size_t)(n * p.queries);
  const float* expected = together(dense, p.heads, p.queries, p.value_depth, 4);
  float *y = qk_random_floats(count), *floats = qk_random_floats(count);
  float *scales = qk_random_floats((size_t)p.queries), *want = qk_random_floats((size_t)p.queries);
  int8_t *coded = (int8_t*)qk_random_floats(count), *wanted = (int8_t*)qk_random_floats(count);
  int32_t zeros[64], zero;
  lie_so(&p, 1);
  q = together(q, p.heads, p.queries, p.depth, 1);
  k = together(k, p.kv_heads, p.keys, p.depth, 1);
  v = together(v, p.kv_heads, p.keys, p.value_depth, 1);
  if (p.q_rows) sq = together(sq, p.heads, p.queries, 1, 4);
  if (p.k_rows) sk = together(sk, p.kv_heads, p.keys, 1, 4);
  if (p.v_rows) sv = together(sv, p.kv_heads, p.keys, 1, 4);
  BODY(&p, q, k, v, 0, 0, sq, 0, sk, 0, sv, 0, 0, 0, y, 0, 0, 0, scores, words);
  qk_expect_same("heads of a row together", y, expected, 4 * count, sizes, 8);
  p.quantize.mode = QK_PER_TOKEN;
  p.quantize.lo = -127;
  p.quantize.hi = 127;
  p.quantize.symmetric = p.quantize.size = 1;
  p.quantize.batch = p.queries;
  p.quantize.span = p.quantize_row = n;
  BODY(&p, q, k, v, 0, 0, sq, 0, sk, 0, sv, 0, 0, 0, coded, scales, zeros, floats, scores, words);
  for (int32_t r = 0; r < p.queries; ++r) {
    const float* row = expected + r * n;
    qn_dynamic_range(row, n, -127, 127, 1, &want[r], &zero);
    for (int32_t i = 0; i < n; ++i)
      wanted[r * n + i] = (int8_t)qn_quantize(row[i], want[r], zero, -127, 127);
  }
  qk_expect_same("codes", coded, wanted, count, sizes, 8);
  qk_expect_same("scales", scales, want, 4 * (size_t)p.queries, sizes, 8);
}

static void check(int i) {
  const int32_t kv = qk_random_in(1, 2), heads = kv * qk_random_in(1, 3);
  const int32_t queries = qk_random_in(1, 40), keys = qk_random_in(1, 70);
  const int32_t depth = i % 8 == 7 ? qk_random_in(100, 140) : qk_random_in(1, 40);
  const int32_t value_depth = qk_random_in(1, 40);
  const int32_t left = i % 3 ? -1 : qk_random_in(0, 5), right = i % 2 ? -1 : qk_random_in(0, 5);
  const int32_t sizes[] = {heads, kv, queries, keys, depth, value_depth, left, right};
  qk_qattention_params p = {0};
  float *s = qk_random_floats((size_t)keys), *w = qk_random_floats((size_t)keys);
  const int8_t* q = codes((size_t)(heads * queries * depth));
  const int8_t* k = codes((size_t)(kv * keys * depth));
  const int8_t* v = codes((size_t)(kv * keys * value_depth));
  const float *sq = positive((size_t)(heads * queries)), *sk = positive((size_t)(kv * keys));
  const float* sv = positive((size_t)(kv * keys));
  const size_t count = (size_t)(heads * queries * value_depth);
  float *y = qk_random_floats(count), *expected = qk_random_floats(count);
  float* floats = qk_random_floats((size_t)QK_QATTENTION_FLOATS(keys, value_depth, kRows));
  int16_t* words =
      (int16_t*)qk_random_floats((size_t)QK_QATTENTION_WORDS(keys, depth, value_depth, kRows) / 2);
  p.batch = 1;
  p.heads = heads;
  p.kv_heads = kv;
  p.queries = queries;
  p.keys = keys;
  p.depth = depth;
  p.value_depth = value_depth;
  p.left = left;
  p.right = right;
  p.rows = kRows;
  p.scale = 0.3f;
  p.q_zero = 3;
  p.k_zero = -5;
  p.v_zero = 7;
  p.q_rows = i & 1;
  p.k_rows = i >> 1 & 1;
  p.v_rows = i >> 2 & 1;
  p.y_type = QK_F32;
  p.quantize.mode = QK_NO_EPILOGUE;
  lie_so(&p, 0);
  BODY(&p, q, k, v, 0, 0, sq, 0, sk, 0, sv, 0, 0, 0, y, 0, 0, 0, floats, words);
  for (int32_t row = 0; row < heads * queries; ++row) {
    const int32_t shared = row / queries / (heads / kv) * keys, at = row % queries;
    float most, sum, largest = 1.0f;
    for (int32_t j = 0; j < keys; ++j) {
      int32_t total = 0;
      for (int32_t d = 0; d < depth; ++d) {
        total += (q[row * depth + d] - 3) * (k[(shared + j) * depth + d] + 5);
      }
      s[j] = (float)total * (sq[p.q_rows ? row : 0] * 0.3f * sk[p.k_rows ? shared + j : 0]);
      if ((left >= 0 && j < at - left) || (right >= 0 && j > at + right)) s[j] = -INFINITY;
    }
    most = qk_plain_max(s, keys);
    for (int32_t j = 0; j < keys; ++j) s[j] = qn_exp_f32(s[j] - most);
    sum = qk_plain_sum(s, keys);
    for (int32_t j = 0; j < keys; ++j) w[j] = p.v_rows ? s[j] * sv[shared + j] : s[j];
    if (p.v_rows) largest = qk_plain_max(w, keys);
    for (int32_t d = 0; d < value_depth; ++d) {
      const int seen = most != -INFINITY;
      expected[row * value_depth + d] =
          seen ? result(&p, w, sum, largest, v + shared * value_depth, sv[0], d) : 0.0f;
    }
  }
  qk_expect_same("qattention", y, expected, 4 * count, sizes, 8);
  check_strides(p, q, k, v, sq, sk, sv, expected, floats, words, sizes);
}

/* What operands of check_blocks are: signed or not, with scales and zero points of rows or one. */
typedef struct operand {
  int32_t is_signed, rows, zero, at[3], scales_at[3], zeros_at[3];
  uint8_t* codes;
  float* scales;
  int32_t *zeros, *laid; /* as the codes of all rows follow each other, and where zeros_at says */
} operand;

static operand operand_of(int32_t batch, int32_t heads, int32_t rows, int32_t n, int per_row) {
  operand o;
  const size_t count = (size_t)(batch * heads * rows);
  o.is_signed = qk_random_in(0, 1);
  o.rows = per_row;
  o.zero = o.is_signed ? qk_random_in(-128, 127) : qk_random_in(0, 255);
  lie(o.at, o.scales_at, heads, rows, n, 0, per_row);
  o.codes = (uint8_t*)codes(count * (size_t)n);
  o.scales = positive(count);
  o.zeros = (int32_t*)qk_random_floats(count);
  for (size_t i = 0; i < count; ++i) {
    o.zeros[i] = !per_row ? o.zero : o.is_signed ? qk_random_in(-128, 127) : qk_random_in(0, 255);
  }
  /* Zero points of the heads of a row lie together, scales do not. */
  o.laid = (int32_t*)qk_random_floats(count);
  for (int32_t i = 0; i < batch * heads * rows; ++i) {
    const int32_t b = i / rows / heads, h = i / rows % heads, r = i % rows;
    o.laid[per_row ? (b * rows + r) * heads + h : i] = o.zeros[i];
  }
  o.zeros_at[0] = per_row ? heads * rows : 0;
  o.zeros_at[1] = per_row ? 1 : 0;
  o.zeros_at[2] = per_row ? heads : 0;
  return o;
}
/* An element less its zero point; row counts through batches and heads. */
static int32_t element(const operand* o, int32_t row, int32_t n, int32_t d) {
  const uint8_t code = o->codes[row * n + d];
  return (o->is_signed ? (int8_t)code : code) - o->zeros[o->rows ? row : 0];
}
static float scale_of(const operand* o, int32_t row) { return o->scales[o->rows ? row : 0]; }

static void expect_blocks(const qk_qattention_params* given, const operand* q, const operand* k,
                          const operand* v, const uint8_t* keep, const float* add,
                          const float* expected, size_t count) {
  const int32_t blocks[] = {1, 4, 9, given->queries};
  const int32_t sizes[] = {given->heads, given->kv_heads,    given->queries, given->keys,
                           given->depth, given->value_depth, given->left,    keep != 0,
                           add != 0,     given->q_rows,      given->v_rows};
  for (int b = 0; b < 4; ++b) {
    qk_qattention_params p = *given;
    const int32_t rows = p.rows = blocks[b];
    float* y = qk_random_floats(count);
    float* floats = qk_random_floats((size_t)QK_QATTENTION_FLOATS(p.keys, p.value_depth, rows));
    int16_t* words = (int16_t*)qk_random_floats(
        (size_t)QK_QATTENTION_WORDS(p.keys, p.depth, p.value_depth, rows) / 2);
    BODY(&p, q->codes, k->codes, v->codes, keep, add, q->scales, q->laid, k->scales, k->laid,
         v->scales, v->laid, 0, 0, y, 0, 0, 0, floats, words);
    qk_expect_same("qattention in blocks", y, expected, 4 * count, sizes, 11);
  }
}

/* The same bits for any number of queries that are worked on together. */
static void check_blocks(int i) {
  const int many = i % 16 == 0;
  const int32_t batch = 2, kv = qk_random_in(1, 2), heads = kv * qk_random_in(1, 2);
  const int32_t queries = qk_random_in(1, many ? 5 : 20);
  const int32_t keys = many ? qk_random_in(1025, 1100) : qk_random_in(1, 40);
  const int32_t depth = qk_random_in(1, 24), value_depth = qk_random_in(1, 24);
  const operand q = operand_of(batch, heads, queries, depth, i & 1);
  const operand k = operand_of(batch, kv, keys, depth, i >> 1 & 1);
  const operand v = operand_of(batch, kv, keys, value_depth, i >> 2 & 1);
  const size_t count = (size_t)(batch * heads * queries * value_depth);
  float *expected = qk_random_floats(count), *s = qk_random_floats((size_t)keys);
  float* w = qk_random_floats((size_t)keys);
  const size_t masked = (size_t)(batch * heads * queries * keys);
  uint8_t* keep = i % 3 == 1 ? qk_random_bytes(masked) : 0;
  const float* add = i % 5 == 1 ? qk_random_floats(masked) : 0;
  qk_qattention_params p = {0};
  p.batch = batch;
  p.heads = heads;
  p.kv_heads = kv;
  p.queries = queries;
  p.keys = keys;
  p.depth = depth;
  p.value_depth = value_depth;
  p.left = i % 4 == 1 ? qk_random_in(0, 9) : -1;
  p.right = -1;
  p.scale = 0.3f;
  p.q_type = q.is_signed ? QK_I8 : QK_U8;
  p.k_type = k.is_signed ? QK_I8 : QK_U8;
  p.v_type = v.is_signed ? QK_I8 : QK_U8;
  p.q_rows = q.rows;
  p.k_rows = k.rows;
  p.v_rows = v.rows;
  p.y_type = QK_F32;
  p.quantize.mode = QK_NO_EPILOGUE;
  lie_so(&p, 0);
  memcpy(p.q_zeros_at, q.zeros_at, sizeof q.zeros_at);
  memcpy(p.k_zeros_at, k.zeros_at, sizeof k.zeros_at);
  memcpy(p.v_zeros_at, v.zeros_at, sizeof v.zeros_at);
  /* A mask for each batch and head, one for all heads, or one for all queries. */
  p.mask[0] = heads * queries * keys;
  p.mask[1] = i % 2 ? queries * keys : 0;
  p.mask[2] = i % 7 ? keys : 0;
  p.mask[3] = 1;
  for (size_t m = 0; keep && m < masked; ++m) keep[m] = qk_random_in(0, 2) > 0;
  for (int32_t row = 0; row < batch * heads * queries; ++row) {
    const int32_t b = row / queries / heads, h = row / queries % heads, at = row % queries;
    const int32_t shared = (b * kv + h / (heads / kv)) * keys;
    const int32_t mask = b * p.mask[0] + h * p.mask[1] + at * p.mask[2];
    float most, sum, largest = 1.0f, by;
    for (int32_t j = 0; j < keys; ++j) {
      int32_t total = 0;
      for (int32_t d = 0; d < depth; ++d) {
        total += element(&q, row, depth, d) * element(&k, shared + j, depth, d);
      }
      s[j] = (float)total * (scale_of(&q, row) * 0.3f * scale_of(&k, shared + j));
      if ((p.left >= 0 && j < at - p.left) || (keep && !keep[mask + j])) s[j] = -INFINITY;
      if (add) s[j] += add[mask + j];
    }
    most = qk_plain_max(s, keys);
    for (int32_t j = 0; j < keys; ++j) s[j] = qn_exp_f32(s[j] - most);
    sum = qk_plain_sum(s, keys);
    for (int32_t j = 0; j < keys; ++j) w[j] = v.rows ? s[j] * scale_of(&v, shared + j) : s[j];
    if (v.rows) largest = qk_plain_max(w, keys);
    by = largest / 255.0f / sum;
    if (!v.rows) by *= v.scales[0];
    for (int32_t d = 0; d < value_depth; ++d) {
      int32_t total = 0;
      for (int32_t j = 0; j < keys && most != -INFINITY; ++j) {
        total +=
            qn_code(w[j] * (255.0f / largest), 0, 0, 255) * element(&v, shared + j, value_depth, d);
      }
      expected[row * value_depth + d] = most == -INFINITY ? 0.0f : (float)total * by;
    }
  }
  expect_blocks(&p, &q, &k, &v, keep, add, expected, count);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int i = 0; i < 200; ++i) check(i);
  for (int i = 0; i < 210; ++i) check_blocks(i);
  return 0;
}

#endif
QK_TARGET_END
