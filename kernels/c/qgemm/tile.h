/* The tile of every dense product of codes: M rows by P panels of 16 outputs, all sums in
 * registers.
 *
 * A row is one output pixel or one row of a matrix; its products are runs of k neighbouring inputs,
 * one run per tap. Inputs are widened to 16 bits, less their zero point, some of them at a time.
 * Weights of 8 bits lie in panels [outputs / 16][runs][pairs of k][16][2], an odd run filled up
 * with 0. Sums are exact modulo 2^32.
 */
#ifndef QK_QGEMM_TILE_H
#define QK_QGEMM_TILE_H

#include "kernels/c/qgemm/output.h"
#include "kernels/c/qgemm/sums.h"

/* Inputs of a row that are widened at a time. */
#define QK_Q_CHUNK 32

/* What the tiles of one call share. */
typedef struct qk_qtile {
  int32_t taps[3], k;          /* runs along three axes, inputs of a run */
  int32_t lead;                /* 1: the first run starts with the second half of a pair */
  ptrdiff_t x_tap[3];          /* from tap to tap in the input, bytes */
  ptrdiff_t w_tap[3], w_panel; /* from tap to tap and from panel to panel in the weights, bytes */
  ptrdiff_t x_row, y_row;      /* from row to row: bytes, elements */
  int32_t x_type, x_size, x_zero;
  int32_t per_row;        /* x_scales and x_zeros have one element per row */
  const int32_t* x_zeros; /* instead of x_zero, may be null */
  const float* x_scales;  /* may be null */
  const int32_t* bias;    /* of the sums, one per channel, may be null */
  const int32_t* w_zeros; /* of the weights, one per channel, may be null */
  int32_t channel;        /* of the first output */
  qk_q_output out;
} qk_qtile;

/* n codes of one row less their zero point; the differences fit 16 bits. Sixteens (or fours), then
 * the last ones once more where some are left: overlapping is free. */
#define QK_Q_WIDEN_AT(T, from, N) \
  for (int j = 0; j < N; ++j) to[(from) + j] = (int16_t)(((const T*)x)[(from) + j] - zero);
#define QK_Q_WIDEN(T)                                                              \
  if (n >= 16) {                                                                   \
    QK_Q_WIDEN_AT(T, 0, 16)                                                        \
    QK_Q_WIDEN_AT(T, n - 16, 16)                                                   \
  } else if (n >= 4) {                                                             \
    for (int32_t i = 0; i < n; i += 4) QK_Q_WIDEN_AT(T, i + 4 <= n ? i : n - 4, 4) \
  } else {                                                                         \
    for (int32_t i = 0; i < n; ++i) QK_Q_WIDEN_AT(T, i, 1)                         \
  }

QK_INLINE void qk_q_widen(const void* x, int32_t type, int32_t zero, int32_t n, int16_t* to) {
  switch (type) {
    case QK_I8:
      QK_Q_WIDEN(int8_t)
      break;
    case QK_U8:
      QK_Q_WIDEN(uint8_t)
      break;
    case QK_I16:
      QK_Q_WIDEN(int16_t)
      break;
    default:
      QK_Q_WIDEN(uint16_t)
      break;
  }
}

/* 16 to 32 codes of 8 bits: the first sixteen and the last, then a 0 where n is odd. */
#define QK_Q_WIDEN_CHUNK(T)    \
  QK_Q_WIDEN_AT(T, 0, 16)      \
  QK_Q_WIDEN_AT(T, n - 16, 16) \
  if (n & 1) to[n] = 0;
QK_INLINE void qk_q_widen_i8(const void* x, int32_t zero, int32_t n, int16_t* to){
    QK_Q_WIDEN_CHUNK(int8_t)} QK_INLINE void qk_q_widen_u8(const void* x, int32_t zero, int32_t n,
                                                           int16_t* to){QK_Q_WIDEN_CHUNK(uint8_t)}

/* Sums of the n widened inputs in xs, the part of them that weights' zero points multiply. */
QK_INLINE uint32_t qk_q_total(const int16_t* xs, int32_t n) {
  int32_t total = 0;
  for (int32_t i = 0; i < n; ++i) total += xs[i];
  return (uint32_t)total;
}

/* Inputs from a tap of line x and its element `done` on, widened until the chunk is full or the
 * line ends; returns how many numbers each row of the chunk has. */
#define QK_DEFINE_QFILL(M)                                                                       \
  QK_INLINE int32_t qk_qfill_##M(const qk_qtile* t, int32_t row, const uint8_t* x, int32_t* tap, \
                                 int32_t* done, int32_t* lead, int16_t(*xs)[QK_Q_CHUNK]) {       \
    int32_t fill = 0;                                                                            \
    if (t->k - *done >= 16 && !*lead && !t->x_zeros && t->x_type <= QK_U8) {                     \
      const uint8_t* xk = x + (*tap * t->x_tap[2] + *done);                                      \
      const int32_t n = t->k - *done < QK_Q_CHUNK ? t->k - *done : QK_Q_CHUNK;                   \
      if (t->x_type == QK_I8) {                                                                  \
        QK_UNROLL for (int m = 0; m < M; ++m) {                                                  \
          qk_q_widen_i8(xk + m * t->x_row, t->x_zero, n, xs[m]);                                 \
        }                                                                                        \
      } else {                                                                                   \
        QK_UNROLL for (int m = 0; m < M; ++m) {                                                  \
          qk_q_widen_u8(xk + m * t->x_row, t->x_zero, n, xs[m]);                                 \
        }                                                                                        \
      }                                                                                          \
      fill = n + (n & 1);                                                                        \
      *done += n;                                                                                \
      if (*done == t->k) {                                                                       \
        *done = 0;                                                                               \
        ++*tap;                                                                                  \
      }                                                                                          \
    }                                                                                            \
    while (*tap < t->taps[2] && fill < QK_Q_CHUNK) {                                             \
      const uint8_t* xk = x + (*tap * t->x_tap[2] + (ptrdiff_t)*done * t->x_size);               \
      const int32_t left = t->k - *done, room = QK_Q_CHUNK - fill - *lead;                       \
      const int32_t n = left < room ? left : room;                                               \
      const int32_t odd = (*lead + n) & 1;                                                       \
      for (int m = 0; m < M; ++m) {                                                              \
        const int32_t zero = t->x_zeros ? t->x_zeros[t->per_row * (row + m)] : t->x_zero;        \
        int16_t* to = xs[m] + fill + *lead;                                                      \
        if (*lead) to[-1] = 0;                                                                   \
        qk_q_widen(xk + m * t->x_row, t->x_type, zero, n, to);                                   \
        if (odd) to[n] = 0;                                                                      \
      }                                                                                          \
      fill += *lead + n + odd;                                                                   \
      *lead = 0;                                                                                 \
      *done += n;                                                                                \
      if (*done == t->k) {                                                                       \
        *done = 0;                                                                               \
        ++*tap;                                                                                  \
      }                                                                                          \
    }                                                                                            \
    return fill;                                                                                 \
  }

/* Sums to results; the numbers in `totals` are of the rows, for zero points of the weights. */
QK_INLINE void qk_qfinish(const qk_qtile* t, int32_t row, int32_t m, int32_t p, uint32_t total,
                          int32_t* sums, int32_t columns, void* y, ptrdiff_t at) {
  const float x_scale = t->x_scales ? t->x_scales[t->per_row * (row + m)] : 1.0f;
  const int32_t left = columns - 16 * p < 16 ? columns - 16 * p : 16;
  const int32_t channel = t->channel + 16 * p;
  if (t->w_zeros) {
    for (int32_t j = 0; j < left; ++j) {
      sums[j] = (int32_t)((uint32_t)sums[j] - total * (uint32_t)t->w_zeros[channel + j]);
    }
  }
  at += m * t->y_row + 16 * p;
  if (t->out.simple && left == 16) {
    qk_q_put16_simple(&t->out, sums, channel, (uint8_t*)y + at);
  } else {
    qk_q_put16(&t->out, sums, channel, left, x_scale, y, at);
  }
}

/* Products of n widened inputs of each row with their weights. */
#if QK_SUMS_REGISTERS == 0
#define QK_Q_DOTS(M, P, n)                                                             \
  for (int m = 0; m < M; ++m) {                                                        \
    for (int p = 0; p < P; ++p) qk_sums_run(&acc[m][p], wk + p * w_panel, u.xs[m], n); \
  }
#else
#define QK_Q_DOTS(M, P, n)                                                                  \
  for (int32_t i = 0; i < (n); i += 2) {                                                    \
    qk_pairs wv[P];                                                                         \
    QK_UNROLL for (int p = 0; p < P; ++p) wv[p] = qk_pairs_load(wk + i * 16 + p * w_panel); \
    QK_UNROLL for (int m = 0; m < M; ++m) {                                                 \
      QK_UNROLL for (int p = 0; p < P; ++p) qk_sums_dot(&acc[m][p], wv[p], u.xs[m] + i);    \
    }                                                                                       \
    QK_UNROLL for (int m = 0; m < M; ++m) {                                                 \
      QK_UNROLL for (int p = 0; p < P; ++p) QK_SUMS_KEEP(acc[m][p]);                        \
    }                                                                                       \
  }
#endif

#define QK_DEFINE_QTILE(M, P)                                                                  \
  QK_SHARED void qk_qtile_##M##x##P(const qk_qtile* t, int32_t row, const uint8_t* x,          \
                                    const int8_t* w, void* y, ptrdiff_t at, int32_t columns) { \
    const ptrdiff_t w_panel = t->w_panel;                                                      \
    uint32_t totals[M] = {0};                                                                  \
    qk_sums acc[M][P];                                                                         \
    union {                                                                                    \
      int16_t xs[M][QK_Q_CHUNK];                                                               \
      int32_t sums[M][P][16];                                                                  \
    } u;                                                                                       \
    QK_UNROLL for (int p = 0; p < P; ++p) {                                                    \
      const int32_t left = columns - 16 * p < 16 ? columns - 16 * p : 16;                      \
      for (int j = 0; j < 16; ++j) {                                                           \
        u.sums[0][p][j] = t->bias && j < left ? t->bias[t->channel + 16 * p + j] : 0;          \
      }                                                                                        \
      QK_UNROLL for (int m = 0; m < M; ++m) qk_sums_load(&acc[m][p], u.sums[0][p]);            \
    }                                                                                          \
    for (int32_t a = 0; a < t->taps[0]; ++a) {                                                 \
      for (int32_t b = 0; b < t->taps[1]; ++b) {                                               \
        const uint8_t* line = x + (a * t->x_tap[0] + b * t->x_tap[1]);                         \
        const int8_t* wk = w + (a * t->w_tap[0] + b * t->w_tap[1]);                            \
        int32_t tap = 0, done = 0, lead = t->lead;                                             \
        while (tap < t->taps[2]) { /* the runs of a line follow each other in the weights */   \
          const int32_t fill = qk_qfill_##M(t, row, line, &tap, &done, &lead, u.xs);           \
          if (t->w_zeros) {                                                                    \
            for (int m = 0; m < M; ++m) totals[m] += qk_q_total(u.xs[m], fill);                \
          }                                                                                    \
          QK_Q_DOTS(M, P, fill)                                                                \
          wk += fill * 16;                                                                     \
        }                                                                                      \
      }                                                                                        \
    }                                                                                          \
    QK_UNROLL for (int m = 0; m < M; ++m) {                                                    \
      QK_UNROLL for (int p = 0; p < P; ++p) qk_sums_store(u.sums[m][p], &acc[m][p]);           \
    }                                                                                          \
    for (int m = 0; m < M; ++m) {                                                              \
      for (int p = 0; p < P; ++p) {                                                            \
        qk_qfinish(t, row, m, p, totals[m], u.sums[m][p], columns, y, at);                     \
      }                                                                                        \
    }                                                                                          \
  }

/* Runs tiles of M rows while they fit. */
#define QK_RUN_QTILES(M, P)                                                             \
  for (; row + M <= rows; row += M) {                                                   \
    qk_qtile_##M##x##P(t, row, x + row * t->x_row, w, y, at + row * t->y_row, columns); \
  }
#define QK_QROWS(P)                                                                          \
  QK_INLINE void qk_qrows_##P(const qk_qtile* t, const uint8_t* x, const int8_t* w, void* y, \
                              ptrdiff_t at, int32_t rows, int32_t columns) {                 \
    int32_t row = 0;                                                                         \
    QK_QROWS_OF_##P                                                                          \
  }

/* M * P sums of 16 lie on the stack when they become results: at most 8 of them, 512 bytes. */
QK_DEFINE_QFILL(1)
#if QK_SUMS_REGISTERS == 1
QK_DEFINE_QFILL(2)
QK_DEFINE_QFILL(4)
QK_DEFINE_QFILL(6)
QK_DEFINE_QTILE(1, 1)
QK_DEFINE_QTILE(2, 1)
QK_DEFINE_QTILE(6, 1)
QK_DEFINE_QTILE(1, 2)
QK_DEFINE_QTILE(2, 2)
QK_DEFINE_QTILE(4, 2)
#define QK_QROWS_OF_1 QK_RUN_QTILES(6, 1) QK_RUN_QTILES(2, 1) QK_RUN_QTILES(1, 1)
#define QK_QROWS_OF_2 QK_RUN_QTILES(4, 2) QK_RUN_QTILES(2, 2) QK_RUN_QTILES(1, 2)
QK_QROWS(1)
QK_QROWS(2)
#define QK_MAX_QPANELS 2
#elif QK_SUMS_REGISTERS == 2
QK_DEFINE_QFILL(2)
QK_DEFINE_QFILL(6)
QK_DEFINE_QTILE(1, 1)
QK_DEFINE_QTILE(2, 1)
QK_DEFINE_QTILE(6, 1)
#define QK_QROWS_OF_1 QK_RUN_QTILES(6, 1) QK_RUN_QTILES(2, 1) QK_RUN_QTILES(1, 1)
QK_QROWS(1)
#define QK_MAX_QPANELS 1
#else
QK_DEFINE_QFILL(4)
QK_DEFINE_QTILE(1, 1)
QK_DEFINE_QTILE(4, 1)
#define QK_QROWS_OF_1 QK_RUN_QTILES(4, 1) QK_RUN_QTILES(1, 1)
QK_QROWS(1)
#define QK_MAX_QPANELS 1
#endif

/* How many panels go together when `left` are to do. */
QK_INLINE int32_t qk_qpanels_together(int32_t left) {
  if (QK_MAX_QPANELS == 1) return 1;
  return left >= 2 ? 2 : 1;
}

/* `rows` rows by `columns` outputs, the first of them element `at` of y. */
QK_INLINE void qk_run_qrows(const qk_qtile* t, const uint8_t* x, const int8_t* w, void* y,
                            ptrdiff_t at, int32_t rows, int32_t columns, int32_t panels) {
  switch (panels) {
#if QK_MAX_QPANELS == 2
    case 2:
      qk_qrows_2(t, x, w, y, at, rows, columns);
      break;
#endif
    default:
      qk_qrows_1(t, x, w, y, at, rows, columns);
      break;
  }
}

#endif
