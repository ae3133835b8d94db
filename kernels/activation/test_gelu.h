/* Rows of gelu, codes of them with one scale for all, and what kernels/activation/gelu_codes.h
 * says of gelu of all floats. */
#ifndef QK_ACTIVATION_TEST_GELU_H
#define QK_ACTIVATION_TEST_GELU_H

/* Rows of numbers of any size. */
static void check_gelu(int32_t n) {
  float *x = qk_random_floats((size_t)n), *y = qk_random_floats((size_t)n);
  float* expected = qk_random_floats((size_t)n);
  for (int32_t i = 0; i < n; ++i) {
    const uint32_t bits = i % 4 ? (uint32_t)qk_random_in(0x3e000000, 0x41000000) : qk_random();
    x[i] = qn_from_bits_f32(bits ^ (uint32_t)qk_random_in(0, 1) << 31);
    if (x[i] != x[i]) x[i] = 1.0f;
    expected[i] = qn_gelu_f32(x[i]);
  }
  qk_gelu_row(x, n, y);
  qk_expect_same("gelu", y, expected, 4 * (size_t)n, &n, 1);
  qk_gelu_row(x, n, x);
  qk_expect_same("gelu in place", x, expected, 4 * (size_t)n, &n, 1);
}

/* Codes of rows around `middle`, some of which are no numbers with `odd`. */
static void check_gelu_codes(int32_t rows, int32_t n, float middle, float spread, int odd) {
  static const int32_t kinds[][3] = {{0, 255, 0}, {-128, 127, 0}, {-127, 127, 1}};
  static const float no_numbers[] = {INFINITY, -INFINITY, NAN, 3e38f, -3e38f};
  const int32_t* kind = kinds[qk_random_in(0, 2)];
  const int32_t stride = n + qk_random_in(0, 3), sizes[] = {rows, n, kind[0], odd};
  const size_t count = (size_t)(rows * n);
  const qk_activation_quantize_params p = {.rows = rows,
                                           .n = n,
                                           .x_stride = stride,
                                           .quantize = {.mode = QK_PER_TENSOR,
                                                        .lo = kind[0],
                                                        .hi = kind[1],
                                                        .symmetric = kind[2],
                                                        .size = 1,
                                                        .batch = 1,
                                                        .span = rows * n}};
  float *x = qk_random_floats((size_t)(rows * stride)), *floats = qk_random_floats(count);
  float *results = qk_random_floats(count), scale, want;
  uint8_t *y = (uint8_t*)malloc(count), *expected = (uint8_t*)malloc(count);
  int32_t zero, want_zero;
  for (int32_t i = 0; i < rows * stride; ++i) {
    const float sum = x[i] + (float)qk_random_in(-1000, 1000) * 0.001f;
    x[i] = middle + spread * sum;
    if (odd && qk_random_in(0, 99) == 0) x[i] = no_numbers[qk_random_in(odd == 1, 4)];
  }
  qk_activation_quantize_gelu(&p, x, 0, 0, 0, y, &scale, &zero, floats);
  for (int32_t r = 0; r < rows; ++r) {
    for (int32_t i = 0; i < n; ++i) results[r * n + i] = qn_gelu_f32(x[r * stride + i]);
  }
  qn_dynamic_range(results, rows * n, kind[0], kind[1], kind[2], &want, &want_zero);
  for (size_t i = 0; i < count; ++i) {
    expected[i] = (uint8_t)qn_quantize(results[i], want, want_zero, kind[0], kind[1]);
  }
  qk_expect_same("codes of gelu", y, expected, count, sizes, 4);
  qk_expect_same("scale of gelu", &scale, &want, 4, sizes, 4);
  qk_expect_same("zero point of gelu", &zero, &want_zero, 4, sizes, 4);
  free(y);
  free(expected);
}

#if QK_VEC16_REGISTERS == 1
#define QK_WALKED 4096
/* All floats between two of one sign, in the order of their bits or against it, with gelu. */
typedef struct qk_walk {
  uint32_t bits, step;
  int at;
  float x[QK_WALKED], y[QK_WALKED];
} qk_walk;
static void next_of(qk_walk* w) {
  if (++w->at < QK_WALKED) return;
  for (int i = 0; i < QK_WALKED; ++i, w->bits += w->step) w->x[i] = qn_from_bits_f32(w->bits);
  qk_gelu_row(w->x, QK_WALKED, w->y);
  w->at = 0;
}
static qk_walk walk_from(float x, uint32_t step) {
  qk_walk w;
  w.bits = qn_bits_f32(x);
  w.step = step;
  w.at = QK_WALKED;
  next_of(&w);
  return w;
}

/* Going from `from` on, no result is less than one that `edge` says is passed, until `to`. Every
 * float that is beyond `to` has a result that is not less than 0. */
static void check_passed(const char* what, float from, uint32_t step, float to,
                         float (*edge)(float)) {
  static qk_walk now, passed;
  float most = -1.0f, least_passed;
  now = walk_from(from, step);
  passed = walk_from(from, step);
  least_passed = edge(passed.x[0]);
  for (; from < to ? now.x[now.at] < to : now.x[now.at] > to; next_of(&now)) {
    const float x = now.x[now.at];
    while (from < to ? least_passed <= x : least_passed >= x) {
      most = passed.y[passed.at] > most ? passed.y[passed.at] : most;
      next_of(&passed);
      least_passed = edge(passed.x[passed.at]);
    }
    if (now.y[now.at] < most) {
      printf("%s: gelu(%a) = %a, less than %a\n", what, (double)x, (double)now.y[now.at],
             (double)most);
      exit(1);
    }
  }
}
static float itself(float x) { return x; }
static float right_of(float x) { return qk_gelu_right_of(x); }
static float left_of(float x) { return qk_gelu_left_of(x); }

/* Estimates of every `step`th float. */
static void check_estimates(uint32_t step) {
  const qk_gelu_estimate t = qk_gelu_estimate_of(1.0f);
  uint32_t bits = 0;
  for (uint64_t done = 0; done < (uint64_t)1 << 32; done += (uint64_t)64 * step) {
    float x[64], y[64], estimated[64];
    for (int i = 0; i < 64; ++i, bits += step) x[i] = qn_from_bits_f32(bits);
    qk_gelu_vectors(x, y);
    for (int i = 0; i < 64; i += 16) {
      _mm512_storeu_ps(estimated + i, qk_gelu_estimated(&t, _mm512_loadu_ps(x + i)));
    }
    for (int i = 0; i < 64; ++i) {
      const float size = fabsf(x[i]), off = fabsf(estimated[i] - y[i]);
      if (size > 1e38f || x[i] != x[i] || off <= fmaf(size, 0x1p-22f, QK_GELU_OFF)) continue;
      printf("gelu(%a) = %a, estimated %a\n", (double)x[i], (double)y[i], (double)estimated[i]);
      exit(1);
    }
  }
}

/* 2^-14 is near enough to 0 and 16 far enough away: see gelu's polynomials. */
static void check_gelu_of_all(void) {
  check_passed("greater arguments", 0x1p-14f, 1, 16.0f, itself);
  check_passed("right of the bottom", QK_GELU_BOTTOM, UINT32_MAX, -0x1p-14f, right_of);
  check_passed("left of the bottom", nextafterf(QK_GELU_BOTTOM, -1.0f), 1, -16.0f, left_of);
  check_estimates(101);
}
#else
static void check_gelu_of_all(void) {}
#endif

static void check_codes_of_gelu(void) {
  for (int k = 0; k < 300; ++k) {
    const float middle = (float)qk_random_in(-6, 3), spread = ldexpf(1.0f, qk_random_in(-9, 3));
    const int odd = k % 8 ? 0 : qk_random_in(0, 2);
    check_gelu_codes(qk_random_in(1, 9), qk_random_in(1, 700), k % 2 ? middle : 0.0f, spread, odd);
  }
}

#endif
