/* The bits of a variant of qgemm against plain loops: compiled once per target, with
 * QK_TARGET_AVX512VNNI or another one of kernels/qgemm/test_bodies.h defined. Operands lie against
 * pages that must not be touched. Arguments: how many random shapes there are, and every how
 * many'th of the systematic shapes is taken.
 *
 * run gcc PORTABLE 2000 1
 * run clang PORTABLE 200 20
 * run gcc CUDA 200 20
 * run gcc DP4A 200 20
 * run gcc MMA 50 100
 * run gcc AVX512VNNI 2000 1
 * run gcc AVX2 2000 1
 * run clang AVX512VNNI 200 20
 * run clang AVX2 200 20
 * run aarch64-linux-gnu-gcc NEON_DOTPROD 30 200
 * run clang NEON_DOTPROD 30 200
 * soak gcc CUDA 2000 1
 * soak gcc DP4A 2000 1
 * soak gcc MMA 2000 1
 * soak aarch64-linux-gnu-gcc NEON_DOTPROD 2000 1
 * arithmetic.md: Q37, E1, E2, E3 */
#include "kernels/common/testing.h"
/* What follows may use the target's instructions. */
#include "kernels/qgemm/test_bodies.h"
#include "kernels/qtile/pack.h"

#define ROOM (1 << 20)

static qk_guarded guards[13];

/* Plain loops that a compiler may turn into vectors, for most of the time is spent here. */
#if defined(__GNUC__) && !defined(__clang__)
__attribute__((optimize("O3")))
#endif
static int32_t
dot(const uint8_t* x, const int8_t* w, int32_t zero, int32_t w_zero, int32_t k) {
  int32_t sum = 0;
  for (int32_t i = 0; i < k; ++i) sum += (x[i] - zero) * (w[i] - w_zero);
  return sum;
}

/* The results as kernels/qtile/output.h has them. */
static void reference(const qk_qgemm_params* p, const operands* o) {
  static int8_t w[1 << 16];
  qk_q_output out =
      qk_q_output_of(&p->epilogue, o->multipliers, o->float_bias, o->x_scales != 0, o->residual);
  out.zeros = o->y_zeros;
  for (int32_t n = 0; n < p->n; ++n) {
    for (int32_t k = 0; k < p->k; ++k) {
      w[k] = (int8_t)(o->w[n * o->n_stride + k * o->k_stride] ^ (o->flip ? 0x80 : 0));
    }
    for (int32_t row = 0; row < p->batch * p->m; ++row) {
      const int32_t of = p->per_row ? row : 0, b = row / p->m, m = row % p->m;
      const int32_t zero = o->x_zeros ? o->x_zeros[of] : p->x_zero;
      const int64_t sum =
          (int64_t)(o->bias ? o->bias[n] : 0) +
          dot(o->x + b * p->x_batch + m * p->k, w, zero, o->w_zeros ? *o->w_zeros : 0, p->k);
      qk_q_store(&out, sum, n, o->x_scales ? o->x_scales[of] : 1.0f, o->expected,
                 b * p->y_batch + m * p->n + n);
    }
  }
}

static void fill(uint8_t* to, size_t n, int extreme) {
  for (size_t i = 0; i < n; ++i) to[i] = (uint8_t)qk_random();
  if (extreme) {
    for (size_t i = 0; i < n; ++i) to[i] = extreme == 1 ? 0xff : 0x80;
  }
}

/* A kind of result: its type, and how it is made. */
static void choose(qk_qgemm_params* p, operands* o, int kind, int at_end) {
  const size_t rows = (size_t)p->batch * p->m;
  const int i8 = kind % 2;
  p->epilogue.result.type = kind < 8 || kind >= 15 ? (i8 ? QK_I8 : QK_U8)
                            : kind < 10            ? QK_F32
                            : kind < 12            ? QK_F32
                                                   : QK_I32;
  p->epilogue.result.lo = i8 ? -128 : 0;
  p->epilogue.result.hi = i8 ? 127 : 255;
  p->epilogue.result.zero =
      kind == 0 ? 0 : qk_random_in(p->epilogue.result.lo, p->epilogue.result.hi);
  if (qk_random() % 3 == 0 && kind != 0) {
    p->epilogue.result.lo = qk_random_in(p->epilogue.result.lo, p->epilogue.result.hi);
    p->epilogue.result.hi = qk_random_in(p->epilogue.result.lo, p->epilogue.result.hi);
  }
  o->residual = 0;
  o->float_bias = 0;
  o->x_scales = 0;
  o->x_zeros = 0;
  o->y_zeros = 0;
  p->per_row = 0;
  if (kind >= 15) { /* a zero point for each output */
    o->y_zeros = (int32_t*)(void*)qk_guarded_copy(&guards[12], 4 * (size_t)p->n, at_end);
    for (int32_t n = 0; n < p->n; ++n) {
      o->y_zeros[n] = qk_random_in(i8 ? -128 : 0, i8 ? 127 : 255);
    }
  }
  if (kind >= 4 && kind < 8) { /* a residual */
    o->residual = qk_guarded_copy(&guards[6], rows * p->n, at_end);
    fill(o->residual, rows * p->n, 0);
    p->epilogue.add.kind = kind < 6 ? QK_R_EXACT : QK_R_ORT;
    p->epilogue.add.first = (int32_t)(qk_random() & 1u);
    p->epilogue.add.type = (int32_t)(qk_random() & 1u);
    p->epilogue.add.y_type = i8 ? QK_I8 : QK_U8;
    p->epilogue.add.za = qk_random_in(-128, 255);
    p->epilogue.add.zb = qk_random_in(-128, 255);
    p->epilogue.add.lowest = p->epilogue.add.lo = i8 ? -128 : 0;
    p->epilogue.add.hi = i8 ? 127 : 255;
    if (qk_random() % 3 == 0)
      p->epilogue.add.lo = qk_random_in(p->epilogue.add.lo, p->epilogue.add.hi);
    p->epilogue.add.zero = qk_random_in(p->epilogue.add.lo, p->epilogue.add.hi);
    p->epilogue.add.ra = qk_random_float();
    p->epilogue.add.rb = qk_random_float();
    p->epilogue.add.shift = 100.0f * qk_random_float();
  }
  if (kind == 9 || kind == 11) {
    o->float_bias = (float*)(void*)qk_guarded_copy(&guards[5], 4 * (size_t)p->n, at_end);
    for (int32_t n = 0; n < p->n; ++n) o->float_bias[n] = qk_random_float();
  }
  if (kind == 10 || kind == 11) { /* scales and zero points that are known at run time */
    p->per_row = kind == 11 || (qk_random() & 1u);
    o->x_scales = (float*)(void*)qk_guarded_copy(&guards[7], 4 * rows, at_end);
    for (size_t i = 0; i < rows; ++i) o->x_scales[i] = qk_random_float();
  }
  if (kind >= 10 && kind <= 13) {
    o->x_zeros = (int32_t*)(void*)qk_guarded_copy(&guards[8], 4 * rows, at_end);
    for (size_t i = 0; i < rows; ++i) o->x_zeros[i] = qk_random_in(0, 255);
    if (kind == 13) p->per_row = 1;
  }
}
#define KINDS 17

#if defined(UNITS)
/* The same call in 1, 2, 3 or 7 parts one after another, the last first. Returns how many. */
static int32_t in_some_subranges(const qk_qgemm_params* p, const operands* o, size_t bytes) {
  static const int32_t counts[] = {1, 2, 3, 7};
  static int calls;
  const int32_t subranges = counts[calls++ % 4], units = UNITS(p);
  memset(o->y, 0xaa, bytes);
  for (int32_t i = subranges - 1; i >= 0; --i) {
    int32_t range[4] = {units * i / subranges, units * (i + 1) / subranges, 0, 0};
    while (range[0] < range[1]) {
      qk_qgemm_params own = *p;
      const void* in[10];
      void* out[] = {o->y};
      list_operands(o, in);
      const int32_t next = SUBRANGE(&own, in, out, range);
      compute(&own, in, out[0]);
      range[0] = next;
    }
  }
  return subranges;
}
#endif

static int check(int32_t batch, int32_t m, int32_t n, int32_t k, int kind, int at_end) {
  qk_qgemm_params p;
  operands o;
  const void* in[10];
  memset(&p, 0, sizeof p);
  p.batch = batch;
  p.m = m;
  p.n = n;
  p.k = k;
  p.x_batch = m * k;
  p.y_batch = m * n;
  p.x_type = QK_U8;
  p.x_zero = qk_random() & 1u ? qk_random_in(0, 255) : 0;
  choose(&p, &o, kind, at_end);
  const size_t size = p.epilogue.result.type > QK_U16 ? 4 : 1, bytes = size * (size_t)batch * m * n;
  const int extreme = (int)(qk_random() % 8);
  const int by_k = (int)(qk_random() & 1u);
  o.flip = (int32_t)(qk_random() & 1u);
  o.n_stride = by_k ? 1 : k;
  o.k_stride = by_k ? n : 1;
  o.x = qk_guarded_copy(&guards[0], (size_t)batch * m * k, at_end);
  o.w = qk_guarded_copy(&guards[1], (size_t)n * k, at_end);
  o.bias = (int32_t*)(void*)qk_guarded_copy(&guards[2], 4 * (size_t)n, at_end);
  o.multipliers = (float*)(void*)qk_guarded_copy(&guards[3], 4 * (size_t)n, at_end);
  o.y = qk_guarded_copy(&guards[9], bytes, at_end);
  o.expected = qk_guarded_copy(&guards[10], bytes, at_end);
  fill(o.x, (size_t)batch * m * k, extreme == 1 ? 1 : 0);
  fill(o.w, (size_t)n * k, extreme == 1 || extreme == 2 ? 2 : 0);
  for (int32_t i = 0; i < n; ++i) {
    o.bias[i] = qk_random_in(-100000, 100000);
    o.multipliers[i] = 0.002f * qk_random_float();
    if (extreme == 3) o.multipliers[i] = 3e5f * qk_random_float();
    if (extreme == 4) o.multipliers[i] = 0.5f;
  }
  if (extreme == 5) o.bias = 0;
  o.w_zeros = 0;
  if (TAKES_W_ZEROS && qk_random() % 3 == 0) { /* one for all outputs */
    o.w_zeros = (int32_t*)(void*)qk_guarded_copy(&guards[11], 4 * (size_t)n, at_end);
    o.w_zeros[0] = qk_random_in(-255, 255);
    for (int32_t i = 1; i < n; ++i) o.w_zeros[i] = o.w_zeros[0];
  }
  o.blob = qk_guarded_copy(&guards[4], blob_bytes(&p, &o), 0);
  pack_blob(&p, &o);
  memset(o.y, 0x55, bytes);
  reference(&p, &o);
  list_operands(&o, in);
  compute(&p, in, o.y);
  if (memcmp(o.y, o.expected, bytes) == 0) {
#if defined(UNITS)
    const int32_t subranges = in_some_subranges(&p, &o, bytes);
    if (memcmp(o.y, o.expected, bytes) == 0) return 0;
    fprintf(stderr, "in %d parts: ", subranges);
#else
    return 0;
#endif
  }
  size_t at = 0;
  while (o.y[at] == o.expected[at]) ++at;
  fprintf(stderr, "batch %d m %d n %d k %d kind %d extreme %d: byte %zu is %d, not %d\n", batch, m,
          n, k, kind, extreme, at, o.y[at], o.expected[at]);
  return 1;
}

/* What is packed comes out as it was. */
static int check_packing(qk_panels panels_of, const qk_pack_params* p) {
  const size_t outputs = (size_t)p->groups * p->outputs;
  const size_t weights = outputs * p->inputs * p->taps[0] * p->taps[1] * p->taps[2];
  uint8_t* w = (uint8_t*)malloc(2 * weights);
  uint8_t *back = w + weights, *blob;
  int32_t *bias = (int32_t*)malloc(24 * outputs), *bias_back = bias + outputs;
  float *m = (float*)(void*)(bias + 2 * outputs), *f = m + outputs, *m_back = f + outputs,
        *f_back = m_back + outputs;
  int wrong;
  blob = (uint8_t*)malloc((size_t)qk_packed_size(panels_of, p));
  fill(w, weights, 0);
  memset(back, 0, weights);
  for (size_t i = 0; i < outputs; ++i) {
    bias[i] = (int32_t)qk_random();
    m[i] = qk_random_float();
    f[i] = qk_random_float();
  }
  qk_pack(panels_of, p, w, bias, m, f, blob);
  qk_unpack(panels_of, p, blob, back, bias_back, m_back, f_back);
  wrong = memcmp(w, back, weights) || memcmp(bias, bias_back, 4 * outputs) ||
          memcmp(m, m_back, 4 * outputs) || memcmp(f, f_back, 4 * outputs);
  if (wrong) {
    fprintf(stderr, "packing: groups %d outputs %d inputs %d taps %d %d %d line %d\n", p->groups,
            p->outputs, p->inputs, p->taps[0], p->taps[1], p->taps[2], p->line);
  }
  free(w);
  free(bias);
  free(blob);
  return wrong;
}

static int check_packings(void) {
  const qk_panels all_panels[] = {QK_PANELS_AVX512VNNI, QK_PANELS_AVX2, QK_PANELS_NEON_DOTPROD};
  int wrong = 0;
  for (int panels_of = 0; panels_of < 3; ++panels_of) {
    for (int32_t outputs = 1; outputs <= 130; ++outputs) {
      for (int32_t inputs = 1; inputs <= 9; ++inputs) {
        const int32_t taps = 1 + outputs % 3, line = inputs & 1;
        const qk_pack_params conv = {1 + outputs % 2,
                                     outputs,
                                     inputs,
                                     {1, taps, taps + 1},
                                     line,
                                     inputs * taps * (taps + 1),
                                     1,
                                     taps * (taps + 1),
                                     0};
        const qk_pack_params gemm = {1, outputs, inputs, {1, 1, 1}, 0, 1, 0, outputs, 1};
        wrong += check_packing(all_panels[panels_of], &conv) +
                 check_packing(all_panels[panels_of], &gemm);
      }
    }
  }
  return wrong;
}

int main(int argc, char** argv) {
  static const int32_t sizes[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12,  13,  14,  15,
                                  16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 127, 128, 129, 130};
  const int count = (int)(sizeof sizes / sizeof *sizes);
  const int random = argc > 1 ? atoi(argv[1]) : 2000, every = argc > 2 ? atoi(argv[2]) : 1;
  int wrong = check_packings();
  long checks = 0, shapes = 0;
  if (!qk_machine_has_target()) {
    printf("compiled only: this machine lacks the instructions\n");
    return wrong != 0;
  }
  for (int i = 0; i < 13; ++i) guards[i] = qk_guard(ROOM);
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < count; ++j) {
      for (int l = 0; l < count && wrong < 10; ++l) {
        if (shapes++ % every) continue;
        ++checks;
        wrong += check(1, sizes[i], sizes[j], sizes[l], (int)(checks / every % KINDS),
                       (int)(checks & 1));
      }
    }
  }
  for (int i = 0; i < random && wrong < 10; ++i, ++checks) {
    const int32_t batch = i % 5 == 0 ? qk_random_in(1, MOST_BATCH) : 1;
    wrong += check(batch, qk_random_in(1, 100), qk_random_in(1, 200), qk_random_in(1, 300),
                   i % KINDS, (int)(qk_random() & 1u));
  }
  printf("%ld products, %d wrong\n", checks, wrong);
  return wrong != 0;
}
QK_TARGET_END
