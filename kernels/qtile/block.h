/* Blocks of accumulators to results, sixteen neighbouring channels at a time. */
#ifndef QK_Q_BLOCK_H
#define QK_Q_BLOCK_H

#include "kernels/common/accumulators.h"
#include "kernels/common/shared.h"
#include "kernels/qtile/output.h"

/* A block of accumulators [rows][panels][16] of `columns` <= 16 * panels channels from `channel`
 * on: their results of a row begin at element `at` of y, those of the next row y_row later. */
typedef struct qk_q_block {
  const int32_t* accumulators;
  int32_t rows, panels, channel, columns;
  const float* x_scale; /* may be null; with per_row one per row */
  int32_t per_row;
  ptrdiff_t at, y_row;
} qk_q_block;

/* The codes of the residual that belong to n <= 16 neighbouring results; the others are 0. */
QK_INLINE void qk_q_others(const qk_q_output* o, ptrdiff_t at, int32_t n, int32_t* other) {
  if (n == 16 && o->r.type == QK_I8) {
    for (int j = 0; j < 16; ++j) other[j] = ((const int8_t*)o->residual)[at + j];
  } else if (n == 16 && o->r.type == QK_U8) {
    for (int j = 0; j < 16; ++j) other[j] = ((const uint8_t*)o->residual)[at + j];
  } else {
    for (int j = 0; j < 16; ++j) {
      other[j] = j < n ? qk_load_code(o->residual, o->r.type, at + j) : 0;
    }
  }
}

#if !defined(QK_INTEGER_ONLY)
/* The results of accumulators of n <= 16 neighbouring channels, rescaled; `accumulators` has 16
 * elements, those beyond n are of no matter. */
QK_SHARED void qk_q_rescale16(const qk_q_output* o, const int32_t* accumulators, int32_t channel,
                              int32_t n, void* y, ptrdiff_t at) {
  const int32_t y_type = o->residual ? o->r.y_type : o->type;
  int32_t code[16], other[16];
  {
    const float* m = (const float*)o->multipliers + channel;
    const int32_t zero = o->zero, lo = o->lo, hi = o->hi;
    float some[16];
    int32_t zeros[16];
    for (int j = 0; j < 16; ++j) zeros[j] = o->zeros && j < n ? o->zeros[channel + j] : zero;
    if (n < 16) {
      for (int j = 0; j < 16; ++j) some[j] = j < n ? m[j] : 0.0f;
      m = some;
    }
    for (int j = 0; j < 16; ++j) code[j] = qn_code((float)accumulators[j] * m[j], zeros[j], lo, hi);
  }
  if (o->residual) {
    const qk_add_stage r = o->r;
    qk_q_others(o, at, n, other);
    if (r.kind == QK_R_EXACT && r.first) {
      for (int j = 0; j < 16; ++j) {
        code[j] = qn_add_codes(code[j], other[j], r.za, r.zb, r.ra, r.rb, r.zero, r.lo, r.hi);
      }
    } else if (r.kind == QK_R_EXACT) {
      for (int j = 0; j < 16; ++j) {
        code[j] = qn_add_codes(other[j], code[j], r.za, r.zb, r.ra, r.rb, r.zero, r.lo, r.hi);
      }
    } else {
      for (int j = 0; j < n; ++j) code[j] = qk_q_add(&r, code[j], other[j]);
    }
  }
  if (y_type > QK_U8) {
    uint16_t* to = (uint16_t*)y + at;
    for (int j = 0; j < n; ++j) to[j] = (uint16_t)code[j];
  } else { /* the low byte, whatever the sign */
    uint8_t* to = (uint8_t*)y + at;
    if (n == 16) {
      for (int j = 0; j < 16; ++j) to[j] = (uint8_t)code[j];
    } else {
      for (int j = 0; j < n; ++j) to[j] = (uint8_t)code[j];
    }
  }
}

#endif

QK_SHARED void qk_q_store_any(const qk_q_output* o, const qk_q_block* b, void* y) {
  for (int32_t m = 0; m < b->rows; ++m) {
    const int32_t* accumulators = b->accumulators + m * 16 * b->panels;
    const float x_scale = b->x_scale ? b->x_scale[b->per_row * m] : 1.0f;
    const ptrdiff_t at = b->at + m * b->y_row;
#if defined(QK_INTEGER_ONLY)
    for (int32_t i = 0; i < b->columns; ++i) {
      qk_q_store(o, accumulators[i], b->channel + i, x_scale, y, at + i);
    }
#else
    for (int32_t i = 0; o->path != QK_Q_ANY && i < b->columns; i += 16) {
      const int32_t n = b->columns - i < 16 ? b->columns - i : 16;
      qk_q_rescale16(o, accumulators + i, b->channel + i, n, y, at + i);
    }
    for (int32_t i = 0; o->path == QK_Q_ANY && i < b->columns; ++i) {
      qk_q_store(o, accumulators[i], b->channel + i, x_scale, y, at + i);
    }
#endif
  }
}

#if QK_ACC_REGISTERS != 0

/* qn_code of sixteen numbers with a zero point for each. */
QK_INLINE qk_acc qk_q_codes16(qk_v16 v, qk_acc zeros, int32_t lo, int32_t hi) {
  const qk_v16 least = qk_acc_float(qk_acc_sub(qk_acc_set(lo), zeros));
  const qk_v16 most = qk_acc_float(qk_acc_sub(qk_acc_set(hi), zeros));
  return qk_acc_add(qk_acc_round(qk_v16_within(v, least, most)), zeros);
}
/* .. with one for all. */
QK_INLINE qk_acc qk_q_code16(qk_v16 v, int32_t zero, int32_t lo, int32_t hi) {
  const qk_v16 least = qk_v16_set((float)(lo - zero)), most = qk_v16_set((float)(hi - zero));
  return qk_acc_add(qk_acc_round(qk_v16_within(v, least, most)), qk_acc_set(zero));
}

/* qn_add_codes of sixteen codes of each. */
QK_INLINE qk_acc qk_q_add16(const qk_add_stage* r, qk_acc a, qk_acc b) {
  const qk_acc left = qk_acc_add(a, qk_acc_set(-r->za));
  const qk_acc right = qk_acc_add(b, qk_acc_set(-r->zb));
  const qk_v16 first = qk_v16_mul(qk_acc_float(left), qk_v16_set(r->ra));
  const qk_v16 v = qk_v16_fma(qk_acc_float(right), qk_v16_set(r->rb), first);
  return qk_q_code16(v, r->zero, r->lo, r->hi);
}

/* Where `path` is QK_Q_CODES. */
QK_SHARED void qk_q_store_codes(const qk_q_output* o, const qk_q_block* b, uint8_t* y) {
  const int32_t zero = o->zero, lo = o->lo, hi = o->hi, rows = b->rows, step = 16 * b->panels;
  const ptrdiff_t y_row = b->y_row;
  for (int32_t done = 0; done < b->columns; done += 16) {
    const int32_t n = b->columns - done < 16 ? b->columns - done : 16;
    const qk_v16 m = qk_v16_load_n((const float*)o->multipliers + b->channel + done, n);
    const qk_acc zeros =
        o->zeros ? qk_acc_load_n(o->zeros + b->channel + done, n) : qk_acc_set(zero);
    const int32_t* accumulators = b->accumulators + done;
    uint8_t* to = y + b->at + done;
    for (int32_t row = 0; row < rows; ++row, accumulators += step, to += y_row) {
      const qk_v16 v = qk_v16_mul(qk_acc_float(qk_acc_load_n(accumulators, 16)), m);
      const qk_acc code = qk_q_codes16(v, zeros, lo, hi);
      qk_acc_store_codes_n(to, code, n);
    }
  }
}

/* Where `path` is QK_Q_ADDED. */
QK_SHARED void qk_q_store_added(const qk_q_output* o, const qk_q_block* b, uint8_t* y) {
  const qk_add_stage r = o->r;
  const int32_t zero = o->zero, lo = o->lo, hi = o->hi, rows = b->rows, step = 16 * b->panels;
  const ptrdiff_t y_row = b->y_row;
  for (int32_t done = 0; done < b->columns; done += 16) {
    const int32_t n = b->columns - done < 16 ? b->columns - done : 16;
    const qk_v16 m = qk_v16_load_n((const float*)o->multipliers + b->channel + done, n);
    const qk_acc zeros =
        o->zeros ? qk_acc_load_n(o->zeros + b->channel + done, n) : qk_acc_set(zero);
    const int32_t* accumulators = b->accumulators + done;
    const uint8_t* from = (const uint8_t*)o->residual + b->at + done;
    uint8_t* to = y + b->at + done;
    for (int32_t row = 0; row < rows; ++row, accumulators += step, from += y_row, to += y_row) {
      const qk_v16 v = qk_v16_mul(qk_acc_float(qk_acc_load_n(accumulators, 16)), m);
      const qk_acc code = qk_q_codes16(v, zeros, lo, hi);
      const qk_acc other = qk_acc_load_codes_n(from, r.type == QK_I8, n);
      const qk_acc sum = r.first ? qk_q_add16(&r, code, other) : qk_q_add16(&r, other, code);
      qk_acc_store_codes_n(to, sum, n);
    }
  }
}

#endif

QK_INLINE void qk_q_store_block(const qk_q_output* o, const qk_q_block* b, void* y) {
  switch (o->path) {
#if QK_ACC_REGISTERS != 0
    case QK_Q_CODES:
      qk_q_store_codes(o, b, (uint8_t*)y);
      break;
    case QK_Q_ADDED:
      qk_q_store_added(o, b, (uint8_t*)y);
      break;
#endif
    default:
      qk_q_store_any(o, b, y);
      break;
  }
}

#endif
