#ifndef QK_ATTENTION_H
#define QK_ATTENTION_H
#include <stdint.h>

/* The step between the two products of attention: scores [b, h, l, s] to probabilities, row by row.
 *
 * t = score * scale; with softcap > 0: softcap * tanh(t / softcap); plus the mask (f32), or hidden where
 * it is 0 (bool). A query l stands at l + offset (at l + lens[b] - length with lens); keys after it are
 * hidden when `causal`, keys further than left or right of it when these are not negative, keys from
 * lens[b] or mask_s on too. Hidden keys have probability 0; a row without a key is 0. Softmax: row maximum
 * and sum in 16 lanes, exp(t - max) / sum. `stage` 0 and 1 copy t after the cap to `copy`, 2 after the
 * mask, 3 the probabilities. y may be x. Arguments: x, mask, lens (may be null), y, copy (may be null).
 */
typedef struct {
  int32_t batch, heads, length, keys;
  int32_t mask_batch, mask_head, mask_row, mask_key, mask_s;
  int32_t causal, offset, left, right, stage;
  float scale, softcap;
} qk_attention_params;

/* Rotary embedding: pairs (a, b) of the first 2*half elements of each vector become
 * (a*cos - b*sin, a*sin + b*cos), the second product of each fused; pairs are (i, i + half), or
 * (2i, 2i + 1) with `interleaved`. x, y [batch, heads, length, size] with the given distances;
 * cos, sin [batch or 1, length, half]. Arguments: x, cos, sin, y. */
typedef struct {
  int32_t batch, heads, length, size, half, interleaved;
  int32_t cache_batch; /* distance from batch to batch in cos and sin */
  int32_t step_head, step_row; /* distances in x and y; batches follow each other */
} qk_rotary_params;

#endif
