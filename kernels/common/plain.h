/* Row reductions as kernels/numerics/reduce.h defines them, in the plainest way, for tests. */
#ifndef QK_PLAIN_H
#define QK_PLAIN_H

#include <math.h>
#include <stdint.h>

/* The sum of up to 1024 numbers: number i goes to lane i mod 16, the lanes are joined by halves.
 * With a mean: of the squares of what they are off it, each fused with the lane. */
static inline float qk_plain_block(const float* x, int32_t n, const float* mean) {
  float lane[16] = {0};
  for (int32_t i = 0; i < n; ++i) {
    const float off = mean ? x[i] - *mean : 0.0f;
    lane[i % 16] = mean ? fmaf(off, off, lane[i % 16]) : lane[i % 16] + x[i];
  }
  for (int32_t half = 8; half > 0; half /= 2) {
    for (int32_t j = 0; j < half; ++j) lane[j] += lane[j + half];
  }
  return lane[0];
}
/* Blocks of 1024 are joined as a tree whose left sides are full. */
static inline float qk_plain_tree(const float* x, int32_t n, const float* mean) {
  int32_t left = 1024;
  if (n <= 1024) return qk_plain_block(x, n, mean);
  while (2 * left < n) left *= 2;
  return qk_plain_tree(x, left, mean) + qk_plain_tree(x + left, n - left, mean);
}
static inline float qk_plain_sum(const float* x, int32_t n) { return qk_plain_tree(x, n, 0); }
static inline float qk_plain_squares(const float* x, int32_t n, float mean) {
  return qk_plain_tree(x, n, &mean);
}
static inline float qk_plain_max(const float* x, int32_t n) {
  float most = x[0];
  for (int32_t i = 1; i < n; ++i) most = x[i] > most ? x[i] : most;
  return most;
}

#endif
