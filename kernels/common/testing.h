/* What tests and benchmarks of kernels share: random numbers, memory that ends at pages which must
 * not be touched, a clock, and whether this machine can run what is tested. It is included first;
 * what follows it may use the instructions of the target that is defined. */
#ifndef QK_TESTING_H
#define QK_TESTING_H

#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "kernels/common/processor.h"

static uint64_t qk_test_state = 88172645463325252u;
static inline uint32_t qk_random(void) {
  qk_test_state ^= qk_test_state << 13;
  qk_test_state ^= qk_test_state >> 7;
  qk_test_state ^= qk_test_state << 17;
  return (uint32_t)(qk_test_state >> 16);
}
/* From least to most. */
static inline int32_t qk_random_in(int32_t least, int32_t most) {
  return least + (int32_t)(qk_random() % (uint32_t)(most - least + 1));
}
static inline float qk_random_float(void) { return (float)(qk_random() % 20001u) * 1e-4f - 1.0f; }

/* Room for up to `room` bytes between two pages that cannot be touched. */
typedef struct qk_guarded {
  uint8_t *map, *first;
  size_t room;
} qk_guarded;
static inline qk_guarded qk_guard(size_t room) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  qk_guarded g;
  g.room = (room + page - 1) / page * page;
  g.map = (uint8_t*)mmap(0, g.room + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                         -1, 0);
  if (g.map == MAP_FAILED || mprotect(g.map, page, PROT_NONE) ||
      mprotect(g.map + page + g.room, page, PROT_NONE)) {
    perror("guarded memory");
    exit(2);
  }
  g.first = g.map + page;
  return g;
}
/* Place for `size` bytes that touches the page before it, or the page after it. */
static inline uint8_t* qk_guarded_copy(const qk_guarded* g, size_t size, int at_end) {
  if (size > g->room) {
    fprintf(stderr, "a test needs %zu bytes, %zu are there\n", size, g->room);
    exit(2);
  }
  return at_end ? g->first + g->room - size : g->first;
}

/* n random numbers from -1 to 1 right before the page after them, where they stay. */
static inline float* qk_random_floats(size_t n) {
  const qk_guarded g = qk_guard(4 * n + 4);
  float* to = (float*)(void*)qk_guarded_copy(&g, 4 * n, 1);
  for (size_t i = 0; i < n; ++i) to[i] = qk_random_float();
  return to;
}
/* n bytes that lie like this, of any value. */
static inline uint8_t* qk_random_bytes(size_t n) {
  const qk_guarded g = qk_guard(n + 1);
  uint8_t* to = qk_guarded_copy(&g, n, 1);
  for (size_t i = 0; i < n; ++i) to[i] = (uint8_t)qk_random();
  return to;
}

/* A random window over three axes, the first of them short: its taps, stride, dilation and padding,
 * and sizes of operand and result that fit it. */
static inline void qk_random_window(int32_t* in, int32_t* out, int32_t* k, int32_t* stride,
                                    int32_t* dilation, int32_t* pad) {
  for (int a = 0; a < 3; ++a) {
    k[a] = a ? qk_random_in(1, 3) : qk_random_in(1, 2);
    stride[a] = qk_random_in(1, 2);
    dilation[a] = qk_random_in(1, 2);
    pad[a] = qk_random_in(0, k[a] - 1);
    out[a] = a ? qk_random_in(1, 9) : qk_random_in(1, 2);
    in[a] = (out[a] - 1) * stride[a] + (k[a] - 1) * dilation[a] + 1 - pad[a];
    if (in[a] < 1) in[a] = 1;
  }
}

/* Ends the test unless the bytes are the same. `sizes` are what to print of the case. */
static inline void qk_expect_same(const char* what, const void* got, const void* expected,
                                  size_t bytes, const int32_t* sizes, int count) {
  const uint8_t *a = (const uint8_t*)got, *b = (const uint8_t*)expected;
  for (size_t i = 0; i < bytes; ++i) {
    if (a[i] == b[i]) continue;
    fprintf(stderr, "%s: byte %zu is %d, expected %d; sizes", what, i, a[i], b[i]);
    for (int j = 0; j < count; ++j) fprintf(stderr, " %d", (int)sizes[j]);
    fprintf(stderr, "\n");
    exit(1);
  }
}

static inline double qk_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#include "kernels/common/isa_testing.h"
#include "kernels/common/target.h"

#endif
