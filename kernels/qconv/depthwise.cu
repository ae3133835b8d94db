/* Depthwise convolutions of channels-last codes, a thread for four channels of four neighbouring
 * positions of a line. Weights are [taps][channels] i8 with their sums behind them (i32),
 * from the next multiple of 16 bytes on. */
#include "kernels/common/cuda.h"
#include "kernels/qconv/qconv.h"
#include "kernels/qtile/gpu_epilogue.h"

QK_UNIT int64_t qk_qdepthwise_cuda_units(const qk_qconv_params* p) {
  return (int64_t)p->n * p->out[0] * p->out[1] * ((p->out[2] + 3) / 4) * (p->oc / 4);
}

/* The four channels at `from`, as ints. */
QK_UNIT void qk_depthwise_codes(int32_t* to, const uint8_t* from, int32_t type, int aligned) {
  uint32_t word = 0;
  if (aligned) {
    word = *(const uint32_t*)from;
  } else {
    for (int32_t i = 0; i < 4; ++i) word |= (uint32_t)from[i] << (8 * i);
  }
  for (int32_t i = 0; i < 4; ++i) {
    const uint8_t byte = (uint8_t)(word >> (8 * i));
    to[i] = type == QK_U8 ? (int32_t)byte : (int32_t)(int8_t)byte;
  }
}

/* The sums of four positions from (n, d, h, v) of the output on, channels c to c + 3. */
QK_UNIT void qk_depthwise_accumulate(const qk_qconv_params* p, const uint8_t* x, const uint8_t* w,
                                     int32_t zero, int64_t n, const int32_t* at, int32_t c,
                                     int32_t (*accumulators)[4]) {
  const int aligned = ((uintptr_t)x & 3) == 0;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (int32_t tap = 0; tap < p->k[0] * p->k[1] * p->k[2]; ++tap) {
    const int32_t v = tap % p->k[2], h = tap / p->k[2] % p->k[1], d = tap / p->k[2] / p->k[1];
    const int32_t plane = at[0] * p->stride[0] - p->pad[0] + d * p->dilation[0];
    const int32_t line = at[1] * p->stride[1] - p->pad[1] + h * p->dilation[1];
    const int there = plane >= 0 && plane < p->in[0] && line >= 0 && line < p->in[1];
    const int64_t row = ((n * p->in[0] + plane) * p->in[1] + line) * p->in[2];
    int32_t weights[4];
    qk_depthwise_codes(weights, w + (int64_t)tap * p->oc + c, QK_I8, 1);
    for (int32_t i = 0; i < 4; ++i) {
      const int32_t from = (at[2] + i) * p->stride[2] - p->pad[2] + v * p->dilation[2];
      int32_t codes[4] = {zero, zero, zero, zero};
      if (there && from >= 0 && from < p->in[2])
        qk_depthwise_codes(codes, x + ((row + from) * p->oc + c), p->x_type, aligned);
      for (int32_t j = 0; j < 4; ++j)
        accumulators[i][j] =
            (int32_t)((uint32_t)accumulators[i][j] + (uint32_t)codes[j] * (uint32_t)weights[j]);
    }
  }
}

QK_UNIT void qk_qdepthwise_cuda(const qk_qconv_params* p, int64_t unit, const void* x,
                                const void* w, const void* bias, const void* multipliers,
                                const void* float_bias, const void* x_scales, const void* x_zeros,
                                const void* residual, void* y) {
  const qk_q_epilogue e = {
      qk_q_output_of(&p->epilogue, multipliers, (const float*)float_bias, x_scales != 0, residual),
      (const int32_t*)bias,
      (const int32_t*)((const uint8_t*)w +
                       ((int64_t)p->k[0] * p->k[1] * p->k[2] * p->oc + 15) / 16 * 16),
      (const float*)x_scales,
      (const int32_t*)x_zeros,
      p->oc,
      0,
      p->x_zero,
      y};
  const uint32_t channels = (uint32_t)(p->oc / 4), groups = (uint32_t)((p->out[2] + 3) / 4);
  const uint64_t position = (uint64_t)unit / channels;
  const uint32_t line = (uint32_t)(position / groups), plane = line / (uint32_t)p->out[1];
  const int32_t c = (int32_t)((uint64_t)unit - position * channels) * 4;
  const int64_t n = plane / (uint32_t)p->out[0];
  const int32_t at[3] = {(int32_t)(plane - (uint32_t)n * (uint32_t)p->out[0]),
                         (int32_t)(line - plane * (uint32_t)p->out[1]),
                         (int32_t)(position - (uint64_t)line * groups) * 4};
  const int64_t row = (int64_t)line * p->out[2] + at[2];
  int32_t accumulators[4][4] = {{0}};
  qk_depthwise_accumulate(p, (const uint8_t*)x, (const uint8_t*)w, qk_q_epilogue_zero(&e, 0), n, at,
                          c, accumulators);
#if defined(__CUDA_ARCH__)
  const qk_q_four four = qk_q_four_of(&e, c);
  if (qk_q_by_four(&e)) {
    uint32_t others[4] = {0};
#pragma unroll
    for (int32_t i = 0; i < 4; ++i) {
      if (residual && at[2] + i < p->out[2]) others[i] = qk_q_others(&e, &four, row + i);
    }
#pragma unroll
    for (int32_t i = 0; i < 4; ++i) {
      if (at[2] + i < p->out[2]) qk_q_finish_four(&e, &four, accumulators[i], others[i], row + i);
    }
    return;
  }
#endif
  for (int32_t i = 0; i < 4 && at[2] + i < p->out[2]; ++i) {
    for (int32_t j = 0; j < 4; ++j) qk_q_finish_one(&e, accumulators[i][j], row + i, c + j);
  }
}
