/* What the vector kernels with packed weights share: the state of their tiles, how results are
 * made, and the loop over panels. A file holds the kernels of one instruction set, whose tile
 * header (avx512vnni_tile.h, avx2_tile.h, neon_dotprod_tile.h) defines
 *
 *   QK_PTILE_PANELS, QK_PTILE_LANES, QK_PTILE_UNIT   how weights are packed
 *   QK_PTILE_SHIFT  what is taken off the inputs before they are multiplied
 *   qk_ptile_rows   rows of one panel
 *   qk_ptile_less   takes the zero point of x times sums of weights off the start of a panel
 *   qk_ptile_sum    the sum of the codes of a row
 */
#ifndef QK_QTILE_PACKED_H
#define QK_QTILE_PACKED_H

#include "kernels/qtile/output.h"
#include "kernels/qtile/pack.h"

enum { QK_PTILE_CODES, QK_PTILE_ADDED, QK_PTILE_PLAIN };

/* What the tiles of one call share. */
typedef struct qk_ptile {
  int32_t taps[3], k, lead;   /* runs along three axes, inputs of a run; the first unit of the
                                 weights has `lead` inputs that are not there */
  int32_t filled;             /* the last unit of a run has weights of 0 for what is beyond k */
  const uint8_t* x_end;       /* of the whole input */
  ptrdiff_t x_tap[3];         /* from run to run in the input, bytes */
  ptrdiff_t w_tap[3];         /* .. and in the weights */
  ptrdiff_t x_row, y_row;     /* from row to row: bytes, elements */
  int32_t columns;            /* outputs of the panel that there are */
  const int32_t* start;       /* of the accumulators, as long as the panel */
  const int32_t* row_start;   /* added to all sums of a row, null: nothing */
  const float* multipliers;   /* tables of the panel */
  const float* float_bias;    /* null: none */
  const int32_t* weight_sums; /* of the weights, read with x_zeros */
  const int32_t* x_zeros;     /* one per row, null: they are part of the start */
  const float* x_scales;      /* one per row, null: they are part of the multipliers */
  int32_t path;               /* QK_PTILE_CODES, .. */
  int32_t floats;             /* plain results are floats, not accumulators */
  int32_t unbounded;          /* products with multipliers may exceed 32 bits */
  float least, most;          /* codes less their zero point */
  int32_t whole;              /* no zero point, and all codes u8 are allowed */
  int32_t zero, lo, hi, flip; /* of the bytes that are stored, which are xor `flip` */
  const int32_t* zeros;       /* .. one for each output, in the panel's order; null: `zero` */
  const uint8_t* residual;
  int32_t inner;                /* the product's code is in the inner product of the sum */
  float code_shift, code_ratio; /* its code less its zero point, plus this, is what is added */
  float other_zero, other_ratio;
  int32_t other_flip;
  float addend;
} qk_ptile;

QK_INLINE void qk_ptile_result(qk_ptile* t, const qk_result_stage* e) {
  const int32_t up = e->type == QK_I8 ? 128 : 0;
  t->path = e->type > QK_U16 ? QK_PTILE_PLAIN : QK_PTILE_CODES;
  t->floats = e->type == QK_F32;
  t->least = (float)(e->lo - e->zero);
  t->most = (float)(e->hi - e->zero);
  t->zero = e->zero + up;
  t->lo = e->lo + up;
  t->hi = e->hi + up;
  t->flip = up;
  t->whole = t->zero == 0 && t->lo == 0 && t->hi == 255 && up == 0;
  t->zeros = 0;
}
/* Codes with a zero point for each output: limits are those of the bytes, and before that numbers
 * need only fit the 16 bits that zero points are added in. */
QK_INLINE void qk_ptile_zeros(qk_ptile* t, const int32_t* zeros) {
  t->zeros = zeros;
  if (!zeros) return;
  t->least = -32768.0f;
  t->most = 32767.0f;
  t->whole = 0;
}
/* Codes a and b are added as fma(b - zb, rb, (a - za) * ra), or as fma(a, ra, fma(b, rb, shift)):
 * the inner product is a's or b's, the zero point of the sum is added to it or is part of it. */
QK_INLINE void qk_ptile_residual(qk_ptile* t, int32_t code_zero, const qk_add_stage* r) {
  const int32_t up = r->y_type == QK_I8 ? 128 : 0, exact = r->kind == QK_R_EXACT;
  const int32_t zc = r->first ? r->za : r->zb, zo = r->first ? r->zb : r->za;
  t->path = QK_PTILE_ADDED;
  t->inner = exact == (r->first != 0);
  t->code_shift = (float)(exact ? code_zero - zc : code_zero);
  t->code_ratio = r->first ? r->ra : r->rb;
  t->other_flip = r->type == QK_I8 ? 128 : 0;
  t->other_zero = (float)((exact ? zo : 0) + t->other_flip);
  t->other_ratio = r->first ? r->rb : r->ra;
  t->addend = exact ? -0.0f : r->shift;
  t->zero = (exact ? r->zero : 0) + up;
  t->lo = r->lo + up;
  t->hi = r->hi + up;
  t->flip = up;
  t->whole = t->zero == 0 && t->lo == 0 && t->hi == 255 && up == 0;
}
/* What becomes of the accumulators. */
QK_INLINE void qk_ptile_output(qk_ptile* t, const qk_epilogue* e) {
  qk_ptile_result(t, &e->result);
  if (t->residual) qk_ptile_residual(t, e->result.zero, &e->add);
}

/* One panel of the tables and weights of a group. */
typedef struct qk_panel {
  const int32_t *bias, *weight_sums;
  const int8_t* w;
  int32_t vectors, first; /* its first output in the group */
} qk_panel;

/* Panel i of group g of a blob; tiles are told of it. */
QK_INLINE qk_panel qk_panel_of(const qk_packed* b, const uint8_t* blob, int32_t g, int32_t i,
                               int32_t outputs, qk_ptile* t) {
  const int32_t lanes = b->panels_of.lanes, first = lanes * qk_panel_first(b, i);
  const int32_t* head = (const int32_t*)(const void*)blob;
  const ptrdiff_t at = g * b->group + first;
  qk_panel panel;
  panel.vectors = qk_panel_vectors(b, i);
  panel.first = first;
  panel.bias = (const int32_t*)(const void*)(blob + b->bias) + at;
  panel.weight_sums = (const int32_t*)(const void*)(blob + b->weight_sums) + at * b->taps;
  panel.w = (const int8_t*)blob + b->weights + at * b->runs * b->units * b->panels_of.unit;
  t->columns = outputs - first < lanes * panel.vectors ? outputs - first : lanes * panel.vectors;
  t->weight_sums = panel.weight_sums;
  t->multipliers = (const float*)(const void*)(blob + b->multipliers) + at;
  t->float_bias = head[1] ? (const float*)(const void*)(blob + b->float_bias) + at : 0;
  t->unbounded = !head[0];
  return panel;
}

/* Makes the scale of x that all rows share part of the n multipliers of a panel, which then are
 * `scales`. */
QK_INLINE void qk_ptile_scale(qk_ptile* t, int32_t n, float x_scale, float* scales) {
  for (int32_t i = 0; i < n; ++i) scales[i] = x_scale * t->multipliers[i];
  t->multipliers = scales;
}

#endif
