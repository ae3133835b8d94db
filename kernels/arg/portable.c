#include "kernels/arg/arg.h"
#include "kernels/common/elementwise.h"
#include "kernels/common/inline.h"
#include "kernels/numerics/half.h"
#include "kernels/numerics/scalar_ops.h"

/* ABOVE(a, b): a comes before b in descending order; BELOW: in ascending order. Of a NaN and a
 * number one of them holds, of two equal elements or two NaNs none. */
#define QK_ABOVE_FLOAT(a, b) (!((a) <= (b)) && (b) == (b))
#define QK_BELOW_FLOAT(a, b) (!((a) >= (b)) && (a) == (a))
#define QK_ABOVE_INT(a, b) ((a) > (b))
#define QK_BELOW_INT(a, b) ((a) < (b))
/* For arg_min NaN wins too. */
#define QK_LOW_FLOAT(a, b) (!((a) >= (b)) && (b) == (b))
#define QK_LOW_INT(a, b) ((a) < (b))

#define QK_DEFINE_ARG(op, s, S, T, LOAD, BEFORE)                                     \
  QK_INLINE void qk_arg_##op##_##s(const qk_arg_params* p, const S* x, int64_t* y) { \
    for (int32_t o = 0; o < p->outer; ++o, x += p->n * p->inner) {                   \
      for (int32_t i = 0; i < p->inner; ++i) {                                       \
        T best = LOAD(x[i]);                                                         \
        int32_t at = 0;                                                              \
        for (int32_t k = 1; k < p->n; ++k) {                                         \
          const T v = LOAD(x[k * p->inner + i]);                                     \
          if (BEFORE(v, best) || (p->last && !BEFORE(best, v))) {                    \
            best = v;                                                                \
            at = k;                                                                  \
          }                                                                          \
        }                                                                            \
        *y++ = at;                                                                   \
      }                                                                              \
    }                                                                                \
  }

/* Merges of doubling length, in two lists of positions. */
#define QK_DEFINE_SORT(s, S, T, LOAD, ABOVE, BELOW)                                          \
  QK_INLINE void qk_sort_##s(const qk_sort_params* p, const S* x, S* values, int64_t* where, \
                             int32_t* scratch) {                                             \
    const int32_t n = p->n, inner = p->inner;                                                \
    for (int32_t o = 0; o < p->outer; ++o) {                                                 \
      for (int32_t i = 0; i < inner; ++i) {                                                  \
        const S* const row = x + (o * n * inner + i);                                        \
        int32_t *from = scratch, *to = scratch + n;                                          \
        for (int32_t k = 0; k < n; ++k) from[k] = k;                                         \
        for (int32_t run = 1; run<n; run = run> n / 2 ? n : 2 * run) {                       \
          for (int32_t start = 0; start < n;) {                                              \
            const int32_t middle = run < n - start ? start + run : n;                        \
            const int32_t end = run < n - middle ? middle + run : n;                         \
            int32_t a = start, b = middle;                                                   \
            for (int32_t k = start; k < end; ++k) {                                          \
              int take_b = a == middle;                                                      \
              if (a < middle && b < end) {                                                   \
                const T va = LOAD(row[from[a] * inner]), vb = LOAD(row[from[b] * inner]);    \
                take_b = p->descending ? ABOVE(vb, va) : BELOW(vb, va);                      \
              }                                                                              \
              to[k] = take_b ? from[b++] : from[a++];                                        \
            }                                                                                \
            start = end;                                                                     \
          }                                                                                  \
          {                                                                                  \
            int32_t* const swap = from;                                                      \
            from = to;                                                                       \
            to = swap;                                                                       \
          }                                                                                  \
        }                                                                                    \
        for (int32_t k = 0; k < p->k; ++k) {                                                 \
          values[(o * p->k + k) * inner + i] = row[from[k] * inner];                         \
          where[(o * p->k + k) * inner + i] = from[k];                                       \
        }                                                                                    \
      }                                                                                      \
    }                                                                                        \
  }

#define QK_DEFINE_FLOAT_ARG(op, s, S, T, t, LOAD, STORE) \
  QK_DEFINE_ARG(max, s, S, T, LOAD, QK_ABOVE_FLOAT)      \
  QK_DEFINE_ARG(min, s, S, T, LOAD, QK_LOW_FLOAT)        \
  QK_DEFINE_SORT(s, S, T, LOAD, QK_ABOVE_FLOAT, QK_BELOW_FLOAT)
#define QK_DEFINE_INT_ARG(op, s, S, T, t, LOAD, STORE) \
  QK_DEFINE_ARG(max, s, S, T, LOAD, QK_ABOVE_INT)      \
  QK_DEFINE_ARG(min, s, S, T, LOAD, QK_LOW_INT)        \
  QK_DEFINE_SORT(s, S, T, LOAD, QK_ABOVE_INT, QK_BELOW_INT)
QK_FLOAT_TYPES(QK_DEFINE_FLOAT_ARG, )
QK_INT_TYPES(QK_DEFINE_INT_ARG, )

#define QK_DEFINE_HISTOGRAM(s, T, mul)                                              \
  QK_INLINE void qk_histogram_##s(const qk_histogram_params* p, const T* x, T* y) { \
    const T low = (T)p->low, high = (T)p->high, bins = (T)p->bins;                  \
    for (int32_t b = 0; b < p->bins; ++b) y[b] = 0;                                 \
    for (int32_t i = 0; i < p->n; ++i) {                                            \
      if (x[i] >= low && x[i] <= high) {                                            \
        const int32_t b = (int32_t)(mul(x[i] - low, bins) / (high - low));          \
        y[b < p->bins ? b : p->bins - 1] += 1;                                      \
      }                                                                             \
    }                                                                               \
  }
QK_DEFINE_HISTOGRAM(f32, float, qn_mulf)
QK_DEFINE_HISTOGRAM(f64, double, qn_mul)
