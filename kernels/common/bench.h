/* What benchmarks of kernels share: the shortest of many runs, and how it is printed. Included
 * after testing.h. */
#ifndef QK_BENCH_H
#define QK_BENCH_H

#include "kernels/common/testing.h"

/* The processor's time, which does not count others' work on a busy machine. */
static inline double qk_processor_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Declares `best`, the seconds of the fastest of all runs of WORK in a fifth of a second. */
#define QK_BEST(best, WORK)                            \
  double best = 1e9;                                   \
  for (double spent = 0.0; spent < 0.2;) {             \
    const double from = qk_processor_seconds();        \
    WORK;                                              \
    const double took = qk_processor_seconds() - from; \
    spent += took;                                     \
    best = took < best ? took : best;                  \
  }

/* A line of a benchmark; `macs` are products, or elements that are read where there are none. */
static inline void qk_report(const char* what, double macs, double seconds) {
  printf("%-48s %9.1f us %8.2f G/s\n", what, 1e6 * seconds, 1e-9 * macs / seconds);
}

#endif
