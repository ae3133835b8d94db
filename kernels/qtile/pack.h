/* Weights of 8 bits as vector kernels read them, packed once with all that belongs to a channel.
 *
 * Outputs are cut into panels of a few vectors; a panel holds, for every run of neighbouring inputs
 * and every `unit` of them, the weights of all its outputs side by side:
 *
 *   [groups][panels][runs][ceil(inputs of a run / unit)][outputs of the panel][unit]
 *
 * A run is the inputs of a whole line of taps where they are neighbours in memory, else those of
 * one tap. What fills up a panel or the last unit of a run is 0. Within a panel outputs are
 * permuted: of `vectors` vectors, output 4 * (l * vectors + v) + e lies in vector v at lane
 * 4 * l + e, which is the order that undoes the shuffling of 128-bit pack instructions; with one
 * vector, and with vectors of four lanes, that is the plain order.
 *
 * A blob is a head of QK_PACKED_HEAD bytes, then tables in the order of the outputs within panels,
 * then the panels:
 *   int32  bias of the accumulators      [groups][outputs]
 *   float  multipliers                   [groups][outputs]
 *   float  bias of floats                [groups][outputs]
 *   int32  sums of the weights of a tap  [groups][panels][taps][outputs of the panel]
 *   int8   weights
 * The first word of the head is 1 where no product of a sum and its multiplier can reach 2^31, for
 * any codes of 8 bits and any zero point among them; the second is 1 where there is a bias of
 * floats.
 *
 * The arithmetic of places is that of one struct, which packers, kernels and tests share.
 */
#ifndef QK_QTILE_PACK_H
#define QK_QTILE_PACK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/common/inline.h"

/* What a machine wants: numbers of 32 bits in a vector, inputs in a unit, vectors in a panel at
 * most. */
typedef struct qk_panels {
  int32_t lanes, unit, vectors;
} qk_panels;
#define QK_PANELS_AVX512VNNI \
  { 16, 4, 4 }
#define QK_PANELS_AVX2 \
  { 8, 2, 2 }
#define QK_PANELS_NEON_DOTPROD \
  { 4, 4, 4 }

/* Weights as the contract has them: element (group g, output n, tap t, input k) of w is at
 * (g * outputs + n) * n_stride + t * tap_stride + k * k_stride, t counting the last axis first.
 * With `flip` codes are u8 and stand for their value less 128. */
typedef struct qk_pack_params {
  int32_t groups, outputs, inputs; /* outputs and inputs of one group */
  int32_t taps[3];
  int32_t line; /* the taps of a line are one run */
  int32_t n_stride, tap_stride, k_stride;
  int32_t flip;
} qk_pack_params;

#define QK_PACKED_HEAD 64

/* Where things are in a blob; places are bytes. */
typedef struct qk_packed {
  qk_panels panels_of;
  int32_t vectors;       /* of a group */
  int32_t panels;        /* of a group; the first `wide` of them have one vector more */
  int32_t wide, narrow;  /* .. than `narrow` */
  int32_t taps, runs, k; /* of a panel; inputs of a run */
  int32_t units;         /* of a run */
  ptrdiff_t group;       /* outputs of a group, those that fill up included */
  ptrdiff_t bias, multipliers, float_bias, weight_sums, weights, size;
} qk_packed;

QK_INLINE qk_packed qk_packed_layout(qk_panels panels_of, const qk_pack_params* p) {
  qk_packed b;
  b.panels_of = panels_of;
  b.vectors = (p->outputs + panels_of.lanes - 1) / panels_of.lanes;
  b.panels = (b.vectors + panels_of.vectors - 1) / panels_of.vectors;
  b.narrow = b.panels ? b.vectors / b.panels : 0;
  b.wide = b.panels ? b.vectors % b.panels : 0;
  b.taps = p->taps[0] * p->taps[1] * p->taps[2];
  b.runs = p->line ? p->taps[0] * p->taps[1] : b.taps;
  b.k = p->line ? p->taps[2] * p->inputs : p->inputs;
  b.units = (b.k + panels_of.unit - 1) / panels_of.unit;
  b.group = (ptrdiff_t)b.vectors * panels_of.lanes;
  b.bias = QK_PACKED_HEAD;
  b.multipliers = b.bias + 4 * p->groups * b.group;
  b.float_bias = b.multipliers + 4 * p->groups * b.group;
  b.weight_sums = b.float_bias + 4 * p->groups * b.group;
  b.weights = (b.weight_sums + 4 * p->groups * b.group * b.taps + 63) & ~(ptrdiff_t)63;
  b.size = b.weights + p->groups * b.group * b.runs * b.units * panels_of.unit;
  return b;
}

/* Vectors of a panel, and vectors before it in its group. */
QK_INLINE int32_t qk_panel_vectors(const qk_packed* b, int32_t panel) {
  return b->narrow + (panel < b->wide);
}
QK_INLINE int32_t qk_panel_first(const qk_packed* b, int32_t panel) {
  return panel * b->narrow + (panel < b->wide ? panel : b->wide);
}
/* The output of a panel of that many vectors that lies at place i = vector * lanes + lane. */
QK_INLINE int32_t qk_panel_output(const qk_packed* b, int32_t vectors, int32_t i) {
  const int32_t v = i / b->panels_of.lanes, lane = i % b->panels_of.lanes;
  return 4 * (lane / 4 * vectors + v) + lane % 4;
}

/* Bytes of a blob. */
QK_INLINE ptrdiff_t qk_packed_size(qk_panels panels_of, const qk_pack_params* p) {
  return qk_packed_layout(panels_of, p).size;
}

/* Where the plain weights have input k of a run (its group and output being where `from` is); false
 * for what only fills up. */
QK_INLINE int qk_pack_from(const qk_pack_params* p, const qk_packed* b, int32_t run, int32_t k,
                           ptrdiff_t* at) {
  const int32_t tap = p->line ? run * p->taps[2] + k / p->inputs : run;
  *at = (ptrdiff_t)tap * p->tap_stride + (ptrdiff_t)(k % p->inputs) * p->k_stride;
  return k < b->k;
}

/* The tables of one output at place `at` of them; `at_weight_sums` is its place in that table,
 * `width` the outputs of its panel. Returns whether its products stay below 2^31. */
QK_INLINE int qk_pack_tables(const qk_pack_params* p, const qk_packed* b, const uint8_t* w,
                             int32_t bias, float multiplier, float float_bias, int32_t width,
                             ptrdiff_t at, ptrdiff_t at_weight_sums, uint8_t* blob) {
  const uint8_t flip = p->flip ? 0x80 : 0;
  double most = bias < 0 ? -(double)bias : (double)bias;
  memcpy(blob + b->bias + 4 * at, &bias, 4);
  memcpy(blob + b->multipliers + 4 * at, &multiplier, 4);
  memcpy(blob + b->float_bias + 4 * at, &float_bias, 4);
  for (int32_t tap = 0; tap < b->taps; ++tap) {
    int32_t sum = 0, magnitude = 0;
    for (int32_t k = 0; w && k < p->inputs; ++k) {
      const ptrdiff_t from = (ptrdiff_t)tap * p->tap_stride + (ptrdiff_t)k * p->k_stride;
      const int32_t wv = (int8_t)(w[from] ^ flip);
      sum += wv;
      magnitude += wv < 0 ? -wv : wv;
    }
    most += 255.0 * magnitude;
    memcpy(blob + b->weight_sums + 4 * (at_weight_sums + (ptrdiff_t)tap * width), &sum, 4);
  }
  most *= multiplier < 0 ? -(double)multiplier : (double)multiplier;
  return most < 2147483000.0;
}

/* Writes qk_packed_size bytes. Bias, multipliers and the bias of floats have one element per
 * output of all groups; null ones count as 0. */
QK_INLINE void qk_pack(qk_panels panels_of, const qk_pack_params* p, const void* w,
                       const int32_t* bias, const float* multipliers, const float* float_bias,
                       void* to) {
  const qk_packed b = qk_packed_layout(panels_of, p);
  const uint8_t flip = p->flip ? 0x80 : 0;
  uint8_t* blob = (uint8_t*)to;
  uint8_t* out = blob + b.weights;
  int32_t bounded = 1, has_float_bias = float_bias != 0;
  memset(blob, 0, (size_t)b.weights);
  for (int32_t g = 0; g < p->groups; ++g) {
    for (int32_t panel = 0; panel < b.panels; ++panel) {
      const int32_t vectors = qk_panel_vectors(&b, panel), width = vectors * panels_of.lanes;
      const int32_t first = qk_panel_first(&b, panel) * panels_of.lanes;
      const ptrdiff_t at = g * b.group + first;
      for (int32_t i = 0; i < width; ++i) {
        const int32_t n = first + qk_panel_output(&b, vectors, i);
        const ptrdiff_t c = (ptrdiff_t)g * p->outputs + n;
        if (n < p->outputs) {
          bounded &=
              qk_pack_tables(p, &b, (const uint8_t*)w + c * p->n_stride, bias ? bias[c] : 0,
                             multipliers ? multipliers[c] : 0.0f, float_bias ? float_bias[c] : 0.0f,
                             width, at + i, at * b.taps + i, blob);
        }
      }
      for (int32_t run = 0; run < b.runs; ++run) {
        for (int32_t k = 0; k < b.units * panels_of.unit;
             k += panels_of.unit, out += width * panels_of.unit) {
          for (int32_t j = 0; j < panels_of.unit; ++j) {
            const uint8_t* from = (const uint8_t*)w;
            ptrdiff_t position;
            const int inside = qk_pack_from(p, &b, run, k + j, &position);
            from += position + ((ptrdiff_t)g * p->outputs + first) * p->n_stride;
            for (int32_t i = 0; i < width; ++i) {
              const int32_t n = qk_panel_output(&b, vectors, i);
              out[i * panels_of.unit + j] = inside && first + n < p->outputs
                                                ? (uint8_t)(from[(ptrdiff_t)n * p->n_stride] ^ flip)
                                                : 0;
            }
          }
        }
      }
    }
  }
  memcpy(blob, &bounded, 4);
  memcpy(blob + 4, &has_float_bias, 4);
}

/* The inverse, for tests: plain weights (codes as they were given), bias, multipliers and bias of
 * floats of a blob. */
QK_INLINE void qk_unpack(qk_panels panels_of, const qk_pack_params* p, const void* from, void* w,
                         int32_t* bias, float* multipliers, float* float_bias) {
  const qk_packed b = qk_packed_layout(panels_of, p);
  const uint8_t flip = p->flip ? 0x80 : 0;
  const uint8_t* blob = (const uint8_t*)from;
  const uint8_t* in = blob + b.weights;
  for (int32_t g = 0; g < p->groups; ++g) {
    for (int32_t panel = 0; panel < b.panels; ++panel) {
      const int32_t vectors = qk_panel_vectors(&b, panel), width = vectors * panels_of.lanes;
      const int32_t first = qk_panel_first(&b, panel) * panels_of.lanes;
      for (int32_t i = 0; i < width; ++i) {
        const int32_t n = first + qk_panel_output(&b, vectors, i);
        const ptrdiff_t c = (ptrdiff_t)g * p->outputs + n, at = 4 * (g * b.group + first + i);
        if (n >= p->outputs) continue;
        memcpy(bias + c, blob + b.bias + at, 4);
        memcpy(multipliers + c, blob + b.multipliers + at, 4);
        memcpy(float_bias + c, blob + b.float_bias + at, 4);
      }
      for (int32_t run = 0; run < b.runs; ++run) {
        for (int32_t k = 0; k < b.units * panels_of.unit; ++k) {
          for (int32_t i = 0; i < width; ++i) {
            const int32_t n = first + qk_panel_output(&b, vectors, i);
            ptrdiff_t position;
            if (!qk_pack_from(p, &b, run, k, &position) || n >= p->outputs) continue;
            ((uint8_t*)w)[((ptrdiff_t)g * p->outputs + n) * p->n_stride + position] =
                in[((ptrdiff_t)(k / panels_of.unit) * width + i) * panels_of.unit +
                   k % panels_of.unit] ^
                flip;
          }
        }
        in += (ptrdiff_t)b.units * panels_of.unit * width;
      }
    }
  }
}

#endif
