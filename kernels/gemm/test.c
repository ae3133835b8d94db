/* Products against one chain of fused multiply-adds per result, with rows, columns and depths that
 * fill no tile.
 * arithmetic.md: S1, E5 */
#include "kernels/common/testing.h"
#include "kernels/gemm/portable.c"

static const int32_t rows[] = {1, 2, 3, 5, 7, 12, 13, 25};
static const int32_t columns[] = {1, 15, 16, 17, 33, 48, 64, 81};
static const int32_t depths[] = {1, 3, 16, 41};

static void check_gemm(int32_t m, int32_t n, int32_t k) {
  const int32_t batch = 1 + (int32_t)(qk_random() % 2), sizes[] = {batch, m, n, k};
  const size_t panels = (size_t)(n + 15) / 16 * 16 * (size_t)k, results = (size_t)(m * n);
  const qk_gemm_pack_params pack = {batch, k, n, n * k, n, 1};
  const qk_gemm_params p = {batch, m, n,     k,    m * k,        (int32_t)panels,
                            m * n, k, -0.7f, 0.6f, {-0.5f, 0.4f}};
  const float* x = qk_random_floats((size_t)(batch * m * k));
  const float* w = qk_random_floats((size_t)(batch * n * k));
  const float* bias = qk_random() % 3 ? qk_random_floats((size_t)n) : 0;
  const float* residual = qk_random() % 2 ? qk_random_floats((size_t)batch * results) : 0;
  float* packed = qk_random_floats((size_t)batch * panels);
  float* y = qk_random_floats((size_t)batch * results);
  float* expected = qk_random_floats((size_t)batch * results);
  qk_gemm_pack_f32(&pack, w, packed);
  qk_gemm_f32(&p, x, packed, bias, residual, y);
  for (int32_t at = 0; at < batch * m * n; ++at) {
    const int32_t b = at / (m * n), row = at / n % m, column = at % n;
    float sum = bias ? bias[column] : 0.0f;
    for (int32_t i = 0; i < k; ++i) {
      sum = fmaf(x[(b * m + row) * k + i], w[(b * k + i) * n + column], sum);
    }
    sum = sum < p.lo ? p.lo : sum > p.hi ? p.hi : sum;
    if (residual) {
      sum += residual[at];
      sum = sum < p.add_f32.lo ? p.add_f32.lo : sum > p.add_f32.hi ? p.add_f32.hi : sum;
    }
    expected[at] = sum;
  }
  qk_expect_same("gemm", y, expected, 4 * (size_t)batch * results, sizes, 4);
}

/* The second matrix as it is, or transposed. */
static void check_matmul(int32_t m, int32_t n, int32_t k, int transposed) {
  const int32_t sizes[] = {m, n, k, transposed};
  qk_matmul_params p = {{1, 1, 2}, {0, 0, m * k}, {0, 0, 0}, m, n, k, k, 1, 0, 0, 0,
                        0,         -9.0f,         9.0f};
  const size_t results = 2 * (size_t)(m * n);
  const int8_t* a = (const int8_t*)qk_random_bytes(2 * (size_t)(m * k));
  const int8_t* b = (const int8_t*)qk_random_bytes((size_t)(n * k));
  const float *af = qk_random_floats(2 * (size_t)(m * k)), *bf = qk_random_floats((size_t)(n * k));
  int8_t *y = (int8_t*)qk_random_bytes(results), *expected = (int8_t*)qk_random_bytes(results);
  float *yf = qk_random_floats(results), *expected_f = qk_random_floats(results);
  p.b_k = transposed ? 1 : n;
  p.b_n = transposed ? k : 1;
  qk_matmul_i8(&p, a, b, 0, y);
  qk_matmul_f32(&p, af, bf, 0, yf);
  for (int32_t at = 0; at < 2 * m * n; ++at) {
    uint32_t sum = 0;
    float chain = 0.0f;
    for (int32_t i = 0; i < k; ++i) {
      const int32_t from = at / n * k + i, to = i * p.b_k + at % n * p.b_n;
      sum += (uint32_t)(a[from] * b[to]);
      chain = fmaf(af[from], bf[to], chain);
    }
    expected[at] = (int8_t)sum;
    expected_f[at] = chain < p.lo ? p.lo : chain > p.hi ? p.hi : chain;
  }
  qk_expect_same("matmul_i8", y, expected, results, sizes, 4);
  qk_expect_same("matmul_f32", yf, expected_f, 4 * results, sizes, 4);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (size_t i = 0; i < 8; ++i) {
    for (size_t j = 0; j < 8; ++j) {
      check_gemm(rows[i], columns[j], depths[(i + j) % 4]);
      check_matmul(rows[i] % 6 + 1, columns[j] % 20 + 1, depths[(i + 2 * j) % 4], (int)j % 2);
    }
  }
  return 0;
}
QK_TARGET_END
