/* A checksum over every scalar operation, reduction and cast. Compiled as C with many options and
 * as C++: all must print the same number. Each result is also added to another value, so a product
 * that escapes unguarded is contracted by -ffp-contract=fast and changes the sum.
 */
#include <inttypes.h>
#include <stdio.h>

#include "kernels/numerics/cast.h"
#include "kernels/numerics/chain.h"
#include "kernels/numerics/dot.h"
#include "kernels/numerics/reduce.h"
#include "kernels/numerics/scalar_ops.h"

enum { N = 1024 };

typedef struct {
  uint64_t hash, seed;
} State;

static uint64_t next_random(State* s) {
  s->seed = s->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return s->seed >> 11 ^ s->seed << 21;
}
static void mix(State* s, uint64_t v) { s->hash = (s->hash ^ v) * UINT64_C(0x100000001b3); }

static void mix_row_f32(State* s, const float* y) {
  int i;
  for (i = 0; i < N; ++i) mix(s, qn_isnan_f32(y[i]) ? 0x7fc00000u : qn_bits_f32(y[i]));
}
static void mix_row_f64(State* s, const double* y) {
  int i;
  for (i = 0; i < N; ++i) mix(s, qn_isnan_f64(y[i]) ? 0x7ff8u : qn_bits_f64(y[i]));
}

/* Any bits, values near 1, small integers, and the special values. */
static void fill_f32(State* s, float* x) {
  static const float special[] = {0.0f,  -0.0f,  1.0f,    -1.0f,     0.5f,  2.0f,   0x1p-149f,
                                  88.7f, -87.4f, -103.5f, 0x1p-126f, 1e30f, -1e30f, 3.4e38f};
  int i;
  for (i = 0; i < N; ++i) {
    const uint32_t r = (uint32_t)next_random(s);
    const float unit = (float)(int32_t)r * 0x1p-31f;
    switch (i % 4) {
      case 0:
        x[i] = qn_from_bits_f32(r);
        break;
      case 1:
        x[i] = unit * 8.0f;
        break;
      case 2:
        x[i] = unit * 100.0f;
        break;
      default:
        x[i] = i % 32 == 3 ? special[(i / 32) % 14] : unit;
        break;
    }
  }
  x[5] = QN_INF_F32;
  x[6] = -QN_INF_F32;
  x[9] = QN_NAN_F32;
}
static void fill_f64(State* s, double* x) {
  int i;
  for (i = 0; i < N; ++i) {
    const uint64_t r = next_random(s);
    const double unit = (double)(int64_t)r * 0x1p-63;
    x[i] = i % 4 == 0   ? qn_from_bits_f64(r)
           : i % 4 == 1 ? unit * 8.0
           : i % 4 == 2 ? unit * 800.0
                        : unit;
  }
  x[5] = QN_INF_F64;
  x[6] = -QN_INF_F64;
  x[9] = QN_NAN_F64;
  x[10] = -0.0;
}

/* One function per operation and type: y = op(a, b) + c. */
#define DEFINE_RUN(run, T, expression)                        \
  static void run(const T* a, const T* b, const T* c, T* y) { \
    int i;                                                    \
    (void)b;                                                  \
    for (i = 0; i < N; ++i) y[i] = (T)(expression) + c[i];    \
  }
#define QN_UNARY_F(name)                                     \
  DEFINE_RUN(run_##name##_f32, float, qn_##name##_f32(a[i])) \
  DEFINE_RUN(run_##name##_f64, double, qn_##name##_f64(a[i]))
#define QN_UNARY(name) QN_UNARY_F(name)
#define QN_PREDICATE(name) QN_UNARY_F(name)
#define QN_UNARY_P(name, p, q)                                              \
  DEFINE_RUN(run_##name##_f32, float, qn_##name##_f32(a[i], 1.25f, 0.625f)) \
  DEFINE_RUN(run_##name##_f64, double, qn_##name##_f64(a[i], 1.25, 0.625))
#define QN_BINARY_F(name)                                          \
  DEFINE_RUN(run_##name##_f32, float, qn_##name##_f32(a[i], b[i])) \
  DEFINE_RUN(run_##name##_f64, double, qn_##name##_f64(a[i], b[i]))
#define QN_BINARY(name) QN_BINARY_F(name)
#define QN_COMPARE(name) QN_BINARY_F(name)
#include "kernels/numerics/scalar_ops.inc"

static void check_floats(State* s) {
  float a32[N], b32[N], c32[N], zero32[N], y32[N];
  double a64[N], b64[N], c64[N], zero64[N], y64[N];
  int i;
  for (i = 0; i < N; ++i) {
    zero32[i] = -0.0f;
    zero64[i] = -0.0;
  }
  fill_f32(s, a32);
  fill_f32(s, b32);
  fill_f32(s, c32);
  fill_f64(s, a64);
  fill_f64(s, b64);
  fill_f64(s, c64);
#define RUN(name)                          \
  run_##name##_f32(a32, b32, zero32, y32); \
  mix_row_f32(s, y32);                     \
  run_##name##_f32(a32, b32, c32, y32);    \
  mix_row_f32(s, y32);                     \
  run_##name##_f64(a64, b64, zero64, y64); \
  mix_row_f64(s, y64);                     \
  run_##name##_f64(a64, b64, c64, y64);    \
  mix_row_f64(s, y64);
#define QN_UNARY_F(name) RUN(name)
#define QN_UNARY(name) RUN(name)
#define QN_UNARY_P(name, p, q) RUN(name)
#define QN_BINARY_F(name) RUN(name)
#define QN_BINARY(name) RUN(name)
#define QN_COMPARE(name) RUN(name)
#define QN_PREDICATE(name) RUN(name)
#include "kernels/numerics/scalar_ops.inc"
#undef RUN
}

#define DEFINE_CHECK_INT(t, T)                             \
  static void check_##t(State* s) {                        \
    T a[N], b[N];                                          \
    int i;                                                 \
    for (i = 0; i < N; ++i) {                              \
      a[i] = (T)(next_random(s) >> (i % 3 == 0 ? 0 : 57)); \
      b[i] = (T)(next_random(s) >> (i % 5 == 0 ? 0 : 60)); \
      if (i % 7 == 0) b[i] = (T)((T)0 - b[i]);             \
    }                                                      \
    CHECK_LIST(t)                                          \
  }
#define RUN1(name, t) \
  for (i = 0; i < N; ++i) mix(s, (uint64_t)qn_##name##_##t(a[i]));
#define RUN2(name, t) \
  for (i = 0; i < N; ++i) mix(s, (uint64_t)qn_##name##_##t(a[i], b[i]));
/* An X-macro file cannot be included from a macro, so the integer operations are named here; the
 * C++ test checks that the list has no others. */
#define CHECK_LIST(t) \
  RUN1(abs, t);       \
  RUN1(neg, t);       \
  RUN1(sign, t);      \
  RUN1(square, t);    \
  RUN1(relu, t);      \
  RUN1(bit_not, t);   \
  RUN2(add, t);       \
  RUN2(sub, t);       \
  RUN2(mul, t);       \
  RUN2(div, t);       \
  RUN2(floor_div, t); \
  RUN2(mod, t);       \
  RUN2(fmod, t);      \
  RUN2(pow, t);       \
  RUN2(max, t);       \
  RUN2(min, t);       \
  RUN2(bit_and, t);   \
  RUN2(bit_or, t);    \
  RUN2(bit_xor, t);   \
  RUN2(shl, t);       \
  RUN2(shr, t);       \
  RUN2(eq, t);        \
  RUN2(ne, t);        \
  RUN2(lt, t);        \
  RUN2(le, t);        \
  RUN2(gt, t);        \
  RUN2(ge, t);
DEFINE_CHECK_INT(i8, int8_t)
DEFINE_CHECK_INT(i16, int16_t)
DEFINE_CHECK_INT(i32, int32_t)
DEFINE_CHECK_INT(i64, int64_t)
DEFINE_CHECK_INT(u8, uint8_t)
DEFINE_CHECK_INT(u16, uint16_t)
DEFINE_CHECK_INT(u32, uint32_t)
DEFINE_CHECK_INT(u64, uint64_t)

/* Dot products in both of their forms, whatever QN_DOT_MUL_ADD chooses. */
static float dot_f32(const float* a, const float* b, int64_t stride, int64_t n) {
  float sum = 0.5f;
  int64_t k;
  for (k = 0; k < n; ++k) sum = qn_dot_step_f32(a[k], b[k * stride], sum);
  return sum;
}
static float mul_add_f32(const float* a, const float* b, int64_t stride, int64_t n) {
  float sum = 0.5f;
  int64_t k;
  for (k = 0; k < n; ++k) sum = qn_mulf(a[k], b[k * stride]) + sum;
  return sum;
}
static double dot_f64(const double* a, int64_t stride, int64_t n) {
  double sum = 0.5;
  int64_t k;
  for (k = 0; k < n; ++k) sum = qn_dot_step_f64(a[k], a[k * stride], sum);
  return sum;
}

static void check_reductions(State* s) {
  float x[N], w[N], y[N];
  double d[N];
  int64_t n;
  int i;
  for (i = 0; i < N; ++i) {
    x[i] = (float)(int32_t)next_random(s) * 0x1p-31f;
    w[i] = (float)(int32_t)next_random(s) * 0x1p-31f;
    d[i] = (double)x[i] * 1.1;
    y[i] = 0.0f;
  }
  for (n = 0; n < 100; n += 7) {
    const int64_t stride = 1 + n % 3;
    mix(s, qn_bits_f32(qn_sum_f32(x, n, stride)));
    mix(s, qn_bits_f32(qn_sum_abs_f32(x, n, stride)));
    mix(s, qn_bits_f32(qn_sum_sq_f32(x, n, stride)));
    mix(s, qn_bits_f32(qn_sum_sq_dev_f32(x, n, stride, 0.3f)));
    mix(s, qn_bits_f32(qn_prod_f32(x, n, stride)));
    mix(s, qn_bits_f32(qn_row_max_f32(x, n, stride)));
    mix(s, qn_bits_f32(qn_row_min_f32(x, n, stride)));
    mix(s, qn_bits_f32(dot_f32(x, w, stride, n)));
    mix(s, qn_bits_f32(mul_add_f32(x, w, stride, n)));
    mix(s, qn_bits_f64(qn_sum_f64(d, n, stride)));
    mix(s, qn_bits_f64(qn_sum_sq_dev_f64(d, n, stride, 0.3)));
    mix(s, qn_bits_f64(dot_f64(d, stride, n)));
  }
  /* Chains as a fused epilogue writes them: nothing between the functions but registers. */
  for (i = 0; i < N; ++i) {
    const float scaled = qn_mul_f32(x[i], w[i]);
    y[i] = qn_add_f32(qn_mul_f32(qn_silu_f32(qn_add_f32(scaled, w[i])), x[i]), qn_square_f32(w[i]));
    y[i] = qn_sub_f32(qn_gelu_f32(y[i]), qn_leaky_relu_f32(x[i], 0.01f, 0.0f));
  }
  mix_row_f32(s, y);
}

/* Rows of several blocks, and chains above chains. */
static void check_long_rows(State* s) {
  enum { LONG = 3 * QN_BLOCK + 100 };
  static float x[2 * LONG];
  static double d[LONG];
  float above[QN_CHAINS] = {0.0f}, low = 0.0f;
  int64_t n;
  int i;
  for (i = 0; i < 2 * LONG; ++i) x[i] = (float)(int32_t)next_random(s) * 0x1p-31f;
  for (i = 0; i < LONG; ++i) d[i] = (double)x[i] * 1.1;
  for (n = QN_BLOCK - 3; n <= LONG; n += 345) {
    const int64_t stride = 1 + n % 2;
    mix(s, qn_bits_f32(qn_sum_f32(x, n, stride)));
    mix(s, qn_bits_f32(qn_sum_sq_f32(x, n, stride)));
    mix(s, qn_bits_f32(qn_sum_sq_dev_f32(x, n, stride, 0.3f)));
    mix(s, qn_bits_f32(qn_prod_f32(x, n, stride)));
    mix(s, qn_bits_f32(qn_row_max_f32(x, n, stride)));
    mix(s, qn_bits_f64(qn_sum_f64(d, n, 1)));
  }
  for (i = 1; i <= LONG; ++i) {
    low += x[i];
    mix(s, qn_bits_f32(qn_chain_sum_f32(above, i, low)));
    if (i % QN_CHAIN != 0) continue;
    qn_chain_full_f32(above, i, low);
    low = 0.0f;
  }
}

static void check_casts(State* s) {
  float x[N];
  double d[N];
  int i;
  fill_f32(s, x);
  fill_f64(s, d);
  for (i = 0; i < N; ++i) {
    const uint64_t u = next_random(s) >> (i % 64);
    const int64_t v = (int64_t)next_random(s) >> (i % 64);
    const float f = qn_isnan_f32(x[i]) ? QN_NAN_F32 : x[i];
    const double g = qn_isnan_f64(d[i]) ? QN_NAN_F64 : d[i];
#define TO_INT(t)                        \
  mix(s, (uint64_t)qn_put_##t##_f32(f)); \
  mix(s, (uint64_t)qn_put_##t##_f64(g)); \
  mix(s, (uint64_t)qn_put_##t##_i64(v)); \
  mix(s, (uint64_t)qn_put_##t##_u64(u));
    TO_INT(i8);
    TO_INT(i16);
    TO_INT(i32);
    TO_INT(i64);
    TO_INT(u8);
    TO_INT(u16);
    TO_INT(u32);
    TO_INT(u64);
    TO_INT(bool);
    TO_INT(i4);
    TO_INT(u4);
    TO_INT(i2);
    TO_INT(u2);
    TO_INT(f16);
    TO_INT(bf16);
    TO_INT(f8e4m3);
    TO_INT(f8e5m2);
    TO_INT(f8e4m3fnuz);
    TO_INT(f8e5m2fnuz);
    TO_INT(f8e8m0);
    TO_INT(f4e2m1);
#undef TO_INT
    mix(s, qn_bits_f32(qn_put_f32_u64(u)));
    mix(s, qn_bits_f32(qn_put_f32_i64(v)));
    mix(s, qn_bits_f32(qn_isnan_f64(g) ? QN_NAN_F32 : qn_put_f32_f64(g)));
  }
}

uint64_t numerics_checksum(void);
uint64_t numerics_checksum(void) {
  State s = {UINT64_C(0xcbf29ce484222325), 12345};
  check_floats(&s);
  check_i8(&s);
  check_i16(&s);
  check_i32(&s);
  check_i64(&s);
  check_u8(&s);
  check_u16(&s);
  check_u32(&s);
  check_u64(&s);
  check_reductions(&s);
  check_long_rows(&s);
  check_casts(&s);
  return s.hash;
}

#ifndef __cplusplus
int main(void) {
  printf("%016" PRIx64 "\n", numerics_checksum());
  return 0;
}
#endif
