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

#define QK_Q_WIDEN(T)                                                                \
  for (; i + 16 <= n; i += 16) {                                                     \
    for (int j = 0; j < 16; ++j) to[i + j] = (int16_t)(((const T*)x)[i + j] - zero); \
  }                                                                                  \
  for (; i < n; ++i) to[i] = (int16_t)(((const T*)x)[i] - zero);

/* n codes less their zero point; the differences fit 16 bits. */
QK_INLINE void qk_q_widen(const void* x, int32_t type, int32_t zero, int32_t n, int16_t* to) {
  int32_t i = 0;
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

/* Sums of the n widened inputs in xs, the part of them that weights' zero points multiply. */
QK_INLINE uint32_t qk_q_total(const int16_t* xs, int32_t n) {
  int32_t total = 0;
  for (int32_t i = 0; i < n; ++i) total += xs[i];
  return (uint32_t)total;
}

#define QK_DEFINE_QTILE(M, P)                                                                    \
  QK_Q_SHARED void qk_qtile_##M##x##P(const qk_qtile* t, int32_t row, const uint8_t* x,          \
                                      const int8_t* w, void* y, ptrdiff_t at, int32_t columns) { \
    const ptrdiff_t x_row = t->x_row, w_panel = t->w_panel;                                      \
    int16_t xs[M][QK_Q_CHUNK];                                                                   \
    uint32_t totals[M] = {0};                                                                    \
    int32_t sums[16];                                                                            \
    qk_sums acc[M][P];                                                                           \
    QK_UNROLL for (int p = 0; p < P; ++p) {                                                      \
      const int32_t left = columns - 16 * p < 16 ? columns - 16 * p : 16;                        \
      for (int j = 0; j < 16; ++j) {                                                             \
        sums[j] = t->bias && j < left ? t->bias[t->channel + 16 * p + j] : 0;                    \
      }                                                                                          \
      QK_UNROLL for (int m = 0; m < M; ++m) acc[m][p] = qk_sums_load(sums);                      \
    }                                                                                            \
    for (int32_t a = 0; a < t->taps[0]; ++a) {                                                   \
      for (int32_t b = 0; b < t->taps[1]; ++b) {                                                 \
        const int8_t* wk = w + (a * t->w_tap[0] + b * t->w_tap[1]);                              \
        int32_t c = 0, done = 0, lead = t->lead;                                                 \
        while (c < t->taps[2]) { /* the runs of this line follow each other in the weights */    \
          int32_t fill = 0;                                                                      \
          while (c < t->taps[2] && fill < QK_Q_CHUNK) {                                          \
            const uint8_t* xk = x + (a * t->x_tap[0] + b * t->x_tap[1] + c * t->x_tap[2] +       \
                                     (ptrdiff_t)done * t->x_size);                               \
            const int32_t left = t->k - done, room = QK_Q_CHUNK - fill - lead;                   \
            const int32_t n = left < room ? left : room;                                         \
            const int32_t odd = (lead + n) & 1;                                                  \
            for (int m = 0; m < M; ++m) {                                                        \
              const int32_t zero = t->x_zeros ? t->x_zeros[t->per_row * (row + m)] : t->x_zero;  \
              if (lead) xs[m][fill] = 0;                                                         \
              qk_q_widen(xk + m * x_row, t->x_type, zero, n, xs[m] + fill + lead);               \
              if (odd) xs[m][fill + lead + n] = 0;                                               \
            }                                                                                    \
            fill += lead + n + odd;                                                              \
            lead = 0;                                                                            \
            done += n;                                                                           \
            if (done == t->k) {                                                                  \
              done = 0;                                                                          \
              ++c;                                                                               \
            }                                                                                    \
          }                                                                                      \
          if (t->w_zeros) {                                                                      \
            for (int m = 0; m < M; ++m) totals[m] += qk_q_total(xs[m], fill);                    \
          }                                                                                      \
          for (int32_t i = 0; i < fill; i += 2, wk += 32) {                                      \
            qk_pairs wv[P];                                                                      \
            QK_UNROLL for (int p = 0; p < P; ++p) wv[p] = qk_pairs_load(wk + p * w_panel);       \
            QK_UNROLL for (int m = 0; m < M; ++m) {                                              \
              QK_UNROLL for (int p = 0; p < P; ++p) {                                            \
                acc[m][p] = qk_sums_dot(acc[m][p], wv[p], xs[m] + i);                            \
              }                                                                                  \
            }                                                                                    \
            QK_UNROLL for (int m = 0; m < M; ++m) {                                              \
              QK_UNROLL for (int p = 0; p < P; ++p) QK_SUMS_KEEP(acc[m][p]);                     \
            }                                                                                    \
          }                                                                                      \
        }                                                                                        \
      }                                                                                          \
    }                                                                                            \
    QK_UNROLL for (int m = 0; m < M; ++m) {                                                      \
      const float x_scale = t->x_scales ? t->x_scales[t->per_row * (row + m)] : 1.0f;            \
      QK_UNROLL for (int p = 0; p < P; ++p) {                                                    \
        const int32_t left = columns - 16 * p < 16 ? columns - 16 * p : 16;                      \
        const int32_t channel = t->channel + 16 * p;                                             \
        qk_sums_store(sums, acc[m][p]);                                                          \
        if (t->w_zeros) {                                                                        \
          for (int32_t j = 0; j < left; ++j) {                                                   \
            sums[j] =                                                                            \
                (int32_t)((uint32_t)sums[j] - totals[m] * (uint32_t)t->w_zeros[channel + j]);    \
          }                                                                                      \
        }                                                                                        \
        qk_q_put16(&t->out, sums, channel, left, x_scale, y, at + m * t->y_row + 16 * p);        \
      }                                                                                          \
    }                                                                                            \
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

#if QK_SUMS_REGISTERS == 1
QK_DEFINE_QTILE(1, 1)
QK_DEFINE_QTILE(4, 1)
QK_DEFINE_QTILE(12, 1)
QK_DEFINE_QTILE(1, 2)
QK_DEFINE_QTILE(4, 2)
QK_DEFINE_QTILE(12, 2)
QK_DEFINE_QTILE(1, 4)
QK_DEFINE_QTILE(2, 4)
QK_DEFINE_QTILE(6, 4)
#define QK_QROWS_OF_1 QK_RUN_QTILES(12, 1) QK_RUN_QTILES(4, 1) QK_RUN_QTILES(1, 1)
#define QK_QROWS_OF_2 QK_RUN_QTILES(12, 2) QK_RUN_QTILES(4, 2) QK_RUN_QTILES(1, 2)
#define QK_QROWS_OF_4 QK_RUN_QTILES(6, 4) QK_RUN_QTILES(2, 4) QK_RUN_QTILES(1, 4)
QK_QROWS(1)
QK_QROWS(2)
QK_QROWS(4)
#define QK_MAX_QPANELS 4
#else
QK_DEFINE_QTILE(1, 1)
QK_DEFINE_QTILE(2, 1)
#if QK_SUMS_REGISTERS == 2
QK_DEFINE_QTILE(4, 1)
#define QK_QROWS_OF_1 QK_RUN_QTILES(4, 1) QK_RUN_QTILES(2, 1) QK_RUN_QTILES(1, 1)
#else /* four rows would not fit the registers, and their spills not the stack */
#define QK_QROWS_OF_1 QK_RUN_QTILES(2, 1) QK_RUN_QTILES(1, 1)
#endif
QK_QROWS(1)
#define QK_MAX_QPANELS 1
#endif

/* How many panels go together when `left` are to do. */
QK_INLINE int32_t qk_qpanels_together(int32_t left) {
  if (QK_MAX_QPANELS == 1) return 1;
  return left >= 4 ? 4 : left >= 2 ? 2 : 1;
}

/* `rows` rows by `columns` outputs, the first of them element `at` of y. */
QK_INLINE void qk_run_qrows(const qk_qtile* t, const uint8_t* x, const int8_t* w, void* y,
                            ptrdiff_t at, int32_t rows, int32_t columns, int32_t panels) {
  switch (panels) {
#if QK_MAX_QPANELS == 4
    case 4:
      qk_qrows_4(t, x, w, y, at, rows, columns);
      break;
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
