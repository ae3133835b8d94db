/* The bits of the vector variants of qconv against plain loops: compiled once per instruction set,
 * with QK_TARGET_AVX512VNNI or QK_TARGET_AVX2 defined. Operands lie against pages that must not be
 * touched. An argument sets how many random shapes there are.
 *
 * run gcc AVX512VNNI 2000
 * run gcc AVX2 2000
 * run clang AVX512VNNI 300
 * run clang AVX2 300
 * arithmetic.md: E1 */
#include "kernels/common/testing.h"
#include "kernels/qconv/split.c"
#include "kernels/qconv/tested.h"
#include "kernels/qtile/accepts.h"

#define ROOM (1 << 20)

typedef struct operands {
  uint8_t* x;
  int8_t* w;
  int32_t* bias;
  float *multipliers, *float_bias, *x_scale;
  int32_t* x_zero;
  uint8_t *residual, *y, *expected, *blob;
} operands;

static qk_guarded guards[10];

static int64_t sum_at(const qk_qconv_params* p, const operands* o, int32_t n, const int32_t* at,
                      int32_t oc, int32_t zero) {
  const int32_t icg = p->ic / p->groups, g = oc / (p->oc / p->groups);
  int64_t sum = o->bias ? o->bias[oc] : 0;
  for (int32_t a = 0; a < p->k[0]; ++a) {
    for (int32_t b = 0; b < p->k[1]; ++b) {
      for (int32_t c = 0; c < p->k[2]; ++c) {
        const int32_t d = at[0] * p->stride[0] - p->pad[0] + a * p->dilation[0];
        const int32_t h = at[1] * p->stride[1] - p->pad[1] + b * p->dilation[1];
        const int32_t w = at[2] * p->stride[2] - p->pad[2] + c * p->dilation[2];
        if (d < 0 || h < 0 || w < 0 || d >= p->in[0] || h >= p->in[1] || w >= p->in[2]) continue;
        const uint8_t* x =
            o->x + (((n * p->in[0] + d) * p->in[1] + h) * p->in[2] + w) * p->ic + g * icg;
        for (int32_t i = 0; i < icg; ++i) {
          const int32_t tap = (a * p->k[1] + b) * p->k[2] + c;
          sum += (x[i] - zero) * o->w[(oc * icg + i) * p->k[0] * p->k[1] * p->k[2] + tap];
        }
      }
    }
  }
  return sum;
}

static void reference(const qk_qconv_params* p, const operands* o) {
  const qk_q_output out =
      qk_q_output_of(&p->epilogue, o->multipliers, o->float_bias, o->x_scale != 0, o->residual);
  const int32_t zero = o->x_zero ? *o->x_zero : p->x_zero;
  const int32_t pixels = p->n * p->out[0] * p->out[1] * p->out[2];
  for (int32_t pixel = 0; pixel < pixels; ++pixel) {
    const int32_t w = pixel % p->out[2], h = pixel / p->out[2] % p->out[1];
    const int32_t d = pixel / p->out[2] / p->out[1] % p->out[0];
    const int32_t at[3] = {d, h, w};
    for (int32_t oc = 0; oc < p->oc; ++oc) {
      qk_q_store(&out, sum_at(p, o, pixel / p->out[2] / p->out[1] / p->out[0], at, oc, zero), oc,
                 o->x_scale ? *o->x_scale : 1.0f, o->expected, (ptrdiff_t)pixel * p->oc + oc);
    }
  }
}

static void fill(uint8_t* to, size_t n, int all_ones) {
  for (size_t i = 0; i < n; ++i) to[i] = all_ones ? 0xff : (uint8_t)qk_random();
}

/* A kind of result: its type, and how it is made. */
static void choose(qk_qconv_params* p, operands* o, int kind, int at_end, size_t outputs) {
  const int i8 = kind % 2;
  p->epilogue.result.type = kind < 8 ? (i8 ? QK_I8 : QK_U8) : kind < 10 ? QK_F32 : QK_I32;
  p->epilogue.result.lo = i8 ? -128 : 0;
  p->epilogue.result.hi = i8 ? 127 : 255;
  p->epilogue.result.zero =
      kind == 0 ? 0 : qk_random_in(p->epilogue.result.lo, p->epilogue.result.hi);
  if (qk_random() % 3 == 0 && kind != 0) {
    p->epilogue.result.lo = qk_random_in(p->epilogue.result.lo, p->epilogue.result.hi);
    p->epilogue.result.hi = qk_random_in(p->epilogue.result.lo, p->epilogue.result.hi);
  }
  o->residual = 0;
  o->float_bias = o->x_scale = 0;
  o->x_zero = 0;
  if (kind >= 4 && kind < 8) { /* a residual */
    o->residual = qk_guarded_copy(&guards[6], outputs, at_end);
    fill(o->residual, outputs, 0);
    p->epilogue.add.kind = kind < 6 ? QK_R_EXACT : QK_R_ORT;
    p->epilogue.add.first = (int32_t)(qk_random() & 1u);
    p->epilogue.add.type = (int32_t)(qk_random() & 1u);
    p->epilogue.add.y_type = i8 ? QK_I8 : QK_U8;
    p->epilogue.add.za = qk_random_in(-128, 255);
    p->epilogue.add.zb = qk_random_in(-128, 255);
    p->epilogue.add.lowest = p->epilogue.add.lo = i8 ? -128 : 0;
    p->epilogue.add.hi = i8 ? 127 : 255;
    p->epilogue.add.zero = qk_random_in(p->epilogue.add.lo, p->epilogue.add.hi);
    p->epilogue.add.ra = qk_random_float();
    p->epilogue.add.rb = qk_random_float();
    p->epilogue.add.shift = 100.0f * qk_random_float();
  }
  if (kind == 9) {
    static float scale;
    static int32_t zero;
    o->float_bias = (float*)(void*)qk_guarded_copy(&guards[5], 4 * (size_t)p->oc, at_end);
    for (int32_t n = 0; n < p->oc; ++n) o->float_bias[n] = qk_random_float();
    scale = qk_random_float();
    zero = qk_random_in(0, 255);
    o->x_scale = &scale;
    o->x_zero = &zero;
  }
}
#define KINDS 11

static void shape(qk_qconv_params* p, int i) {
  const int axes = i % 11 == 0 ? 3 : 2, pointwise = i % 4 == 1;
  memset(p, 0, sizeof *p);
  p->nhwc = 1;
  p->n = i % 7 == 0 ? 2 : 1;
  p->groups = i % 5 == 0 ? qk_random_in(1, 4) : 1;
  p->ic = p->groups * (i % 3 == 0 ? qk_random_in(1, 7) : 4 * qk_random_in(1, 18));
  p->oc = p->groups * (i % 3 == 1 ? qk_random_in(1, 150) : 8 * qk_random_in(1, 12));
  for (int a = 0; a < 3; ++a) {
    int32_t span;
    p->in[a] = p->out[a] = p->k[a] = p->stride[a] = p->dilation[a] = 1;
    if (a < 3 - axes) continue;
    p->k[a] = pointwise ? 1 : qk_random_in(1, axes == 3 ? 3 : 5);
    p->stride[a] = qk_random_in(1, 3);
    p->dilation[a] = i % 6 == 0 ? qk_random_in(1, 3) : 1;
    span = (p->k[a] - 1) * p->dilation[a] + 1;
    p->in[a] = qk_random_in(1, axes == 3 ? 5 : 16);
    p->pad[a] = pointwise ? 0 : qk_random_in(0, span);
    if (p->in[a] + 2 * p->pad[a] < span) p->in[a] = span;
    p->out[a] = (p->in[a] + 2 * p->pad[a] - span) / p->stride[a] + 1;
  }
}

/* The same with one channel per group. */
static void depthwise_shape(qk_qconv_params* p, int i) {
  do {
    shape(p, i % 11 == 0 ? i + 1 : i);
  } while (p->k[0] != 1);
  p->ic = p->oc = p->groups = i % 3 == 0 ? qk_random_in(1, 200) : 16 * qk_random_in(1, 10);
  if (i % 2 == 0) {
    p->k[1] = p->k[2] = i % 4 == 0 ? 3 : 5;
    for (int a = 1; a < 3; ++a) {
      const int32_t span = (p->k[a] - 1) * p->dilation[a] + 1;
      p->stride[a] = 1 + i / 4 % 2;
      p->pad[a] = p->k[a] / 2;
      if (p->in[a] + 2 * p->pad[a] < span) p->in[a] = span;
      p->out[a] = (p->in[a] + 2 * p->pad[a] - span) / p->stride[a] + 1;
    }
  }
}

#if defined(DEPTHWISE)
/* Packs and runs; what is packed comes out as it was. */
static int run_depthwise(const qk_qconv_params* p, const operands* o) {
  const size_t weights = (size_t)p->oc * p->k[1] * p->k[2], c = (size_t)p->oc;
  int8_t* w = (int8_t*)malloc(weights);
  float* tables = (float*)malloc(12 * c);
  int wrong;
  qk_pack_depthwise(p, o->w, o->bias, o->multipliers, o->float_bias, o->blob);
  qk_unpack_depthwise(p, o->blob, w, (int32_t*)(void*)tables, tables + c, tables + 2 * c);
  wrong = memcmp(w, o->w, weights) || memcmp(tables, o->bias, 4 * c) ||
          memcmp(tables + c, o->multipliers, 4 * c) ||
          (o->float_bias && memcmp(tables + 2 * c, o->float_bias, 4 * c));
  if (wrong) fprintf(stderr, "packing of %d channels, %d x %d taps\n", p->oc, p->k[1], p->k[2]);
  free(w);
  free(tables);
  DEPTHWISE(p, o->x, o->blob, o->x_scale, o->x_zero, o->residual, o->y);
  return wrong;
}
#endif

/* The units of a call, and a call of some of them. */
static int32_t units_of(const qk_qconv_params* p, int depthwise) {
  return depthwise ? qk_qconv_depthwise_packed_units(p) : UNITS(p);
}
static int32_t run_part(const qk_qconv_params* p, const operands* o, int depthwise,
                        int32_t* units) {
  qk_qconv_params own = *p;
  const void* in[] = {o->x, o->blob, o->x_scale, o->x_zero, o->residual, 0};
  void* out[] = {o->y};
  const int32_t next = depthwise ? qk_qconv_depthwise_packed_subrange(&own, in, out, units)
                                 : SUBRANGE(&own, in, out, units);
#if defined(DEPTHWISE)
  if (depthwise) {
    DEPTHWISE(&own, in[0], in[1], in[2], in[3], in[4], out[0]);
    return next;
  }
#endif
  BODY(&own, in[0], in[1], in[2], in[3], in[4], in[5], out[0]);
  return next;
}

/* The same call in 1, 2, 3 or 7 parts one after another, the last first. Returns how many. */
static int32_t in_some_subranges(const qk_qconv_params* p, const operands* o, size_t bytes,
                                 int depthwise) {
  static const int32_t counts[] = {1, 2, 3, 7};
  static int calls;
  const int32_t subranges = counts[calls++ % 4], units = units_of(p, depthwise);
  memset(o->y, 0xaa, bytes);
  for (int32_t i = subranges - 1; i >= 0; --i) {
    int32_t range[4] = {units * i / subranges, units * (i + 1) / subranges, 0, 0};
    while (range[0] < range[1]) range[0] = run_part(p, o, depthwise, range);
  }
  return subranges;
}

static int check(int i, int depthwise) {
  const qk_panels panels_of = PANELS;
  const int at_end = (int)(qk_random() & 1u), kind = i % KINDS;
  const int all_ones = qk_random() % 8 == 0;
  qk_qconv_params p;
  operands o;
  if (depthwise) {
    depthwise_shape(&p, i);
  } else {
    shape(&p, i);
  }
  p.x_type = QK_U8;
  p.x_zero = qk_random() & 1u ? qk_random_in(0, 255) : 0;
  const size_t outputs = (size_t)p.n * p.out[0] * p.out[1] * p.out[2] * p.oc;
  const size_t inputs = (size_t)p.n * p.in[0] * p.in[1] * p.in[2] * p.ic;
  const size_t weights = (size_t)p.oc * (p.ic / p.groups) * p.k[0] * p.k[1] * p.k[2];
  choose(&p, &o, kind, at_end, outputs);
  const size_t bytes = outputs * (p.epilogue.result.type > QK_U16 ? 4 : 1);
  const qk_packed_call call = {.x_type = p.x_type,
                               .x_zero = p.x_zero,
                               .has_float_bias = o.float_bias != 0,
                               .has_x_scales = o.x_scale != 0,
                               .has_x_zeros = o.x_zero != 0,
                               .has_residual = o.residual != 0};
  const qk_pack_params pack = qk_qconv_packing(&p);
  o.x = qk_guarded_copy(&guards[0], inputs, at_end);
  o.w = (int8_t*)qk_guarded_copy(&guards[1], weights, at_end);
  o.bias = (int32_t*)(void*)qk_guarded_copy(&guards[2], 4 * (size_t)p.oc, at_end);
  o.multipliers = (float*)(void*)qk_guarded_copy(&guards[3], 4 * (size_t)p.oc, at_end);
  o.blob = qk_guarded_copy(&guards[4], ROOM, 0);
  o.y = qk_guarded_copy(&guards[7], bytes, at_end);
  o.expected = qk_guarded_copy(&guards[8], bytes, at_end);
  fill(o.x, inputs, all_ones);
  fill((uint8_t*)o.w, weights, 0);
  for (int32_t c = 0; c < p.oc; ++c) {
    o.bias[c] = qk_random_in(-30000, 30000);
    o.multipliers[c] = 0.004f * qk_random_float();
  }
  if (!qk_packed_accepts(&call, &p.epilogue)) {
    fprintf(stderr, "kind %d is not accepted\n", kind);
    return 1;
  }
  memset(o.y, 0x55, bytes);
  reference(&p, &o);
  if (depthwise) {
#if defined(DEPTHWISE)
    if (run_depthwise(&p, &o)) return 1;
#else
    return 0;
#endif
  } else {
    qk_pack(panels_of, &pack, o.w, o.bias, o.multipliers, o.float_bias, o.blob);
    BODY(&p, o.x, o.blob, o.x_scale, o.x_zero, o.residual, 0, o.y);
  }
  if (memcmp(o.y, o.expected, bytes) == 0) {
    const int32_t subranges = in_some_subranges(&p, &o, bytes, depthwise);
    if (memcmp(o.y, o.expected, bytes) == 0) return 0;
    fprintf(stderr, "in %d parts: ", subranges);
  }
  size_t at = 0;
  while (o.y[at] == o.expected[at]) ++at;
  fprintf(stderr,
          "shape %d kind %d: n %d ic %d oc %d groups %d in %d %d %d k %d %d %d stride %d %d %d "
          "dilation %d %d %d pad %d %d %d: byte %zu is %d, not %d\n",
          i, kind, p.n, p.ic, p.oc, p.groups, p.in[0], p.in[1], p.in[2], p.k[0], p.k[1], p.k[2],
          p.stride[0], p.stride[1], p.stride[2], p.dilation[0], p.dilation[1], p.dilation[2],
          p.pad[0], p.pad[1], p.pad[2], at, o.y[at], o.expected[at]);
  return 1;
}

int main(int argc, char** argv) {
  const int random = argc > 1 ? atoi(argv[1]) : 2000;
  int wrong = 0, i = 0;
  if (!qk_machine_has_target()) {
    printf("compiled only: this machine lacks the instructions\n");
    return 0;
  }
  for (int g = 0; g < 10; ++g) guards[g] = qk_guard(ROOM);
  for (; i < random && wrong < 10; ++i) wrong += check(i, 0);
  for (int j = 0; j < random && wrong < 10; ++j, ++i) wrong += check(j, 1);
  printf("%d convolutions, %d wrong\n", i, wrong);
  return wrong != 0;
}
QK_TARGET_END
