/* Sums that are taken one element at a time (pools, running sums): chains of chains.
 *
 * A chain starts at 0 and adds 16 elements in ascending order; then its sum is an element of the
 * chain above it, and it starts again. The sum of everything so far is chain 0, which chain 1 is
 * added to from the left, then chain 2, and so on. An element's place depends on its index alone,
 * zeros after the end change no bit, running sums of what is not negative never fall, and the error
 * of n elements grows with log n.
 */
#ifndef QN_CHAIN_H
#define QN_CHAIN_H

#include "base.h"

#define QN_CHAIN 16
#define QN_CHAINS 7 /* above the lowest one, for less than 2^32 elements */

/* Functions on T above[QN_CHAINS], which starts as zeros; `sum` is the lowest chain, of `count`
 * elements so far:
 * qn_chain_full_t   hands a full chain upwards, where count is a multiple of QN_CHAIN; it is 0 then
 * qn_chain_sum_t    the sum of all elements */
#define QN_DEFINE_CHAIN(t, T)                                      \
  QN_FN void qn_chain_full_##t(T* above, int64_t count, T sum) {   \
    for (;; *above++ = 0) {                                        \
      *above += sum;                                               \
      count /= QN_CHAIN;                                           \
      if (count % QN_CHAIN != 0) return;                           \
      sum = *above;                                                \
    }                                                              \
  }                                                                \
  QN_FN T qn_chain_sum_##t(const T* above, int64_t count, T sum) { \
    while ((count /= QN_CHAIN) > 0) sum = *above++ + sum;          \
    return sum;                                                    \
  }
QN_DEFINE_CHAIN(f32, float)
QN_DEFINE_CHAIN(f64, double)

#endif /* QN_CHAIN_H */
