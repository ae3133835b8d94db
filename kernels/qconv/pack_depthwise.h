/* Weights of a depthwise convolution, [c, 1, k1, k2] over two axes, packed for 64 channels at once.
 *
 * A blob is a head of QK_PACKED_HEAD bytes as in kernels/qtile/pack.h, then for every 64 channels
 *   int32  bias of the accumulators      [64]
 *   float  multipliers                   [64]
 *   float  bias of floats                [64]
 *   int32  the weights                   [k1][k2][64]
 *   int8   weights                       [k2][ceil(k1 / 4)][64][4]
 * where four are the taps of four rows of the input. What fills up is 0. Channels are permuted like
 * the outputs of a panel of four vectors: 4 * (4 * l + v) + e lies at 16 * v + 4 * l + e. */
#ifndef QK_QCONV_PACK_DEPTHWISE_H
#define QK_QCONV_PACK_DEPTHWISE_H

#include "kernels/qconv/qconv.h"
#include "kernels/qtile/pack.h"

/* Bytes of 64 channels. */
QK_INLINE ptrdiff_t qk_depthwise_panel(const qk_qconv_params* p) {
  const ptrdiff_t taps = (ptrdiff_t)p->k[1] * p->k[2];
  return 3 * 256 + taps * 256 + (ptrdiff_t)p->k[2] * ((p->k[1] + 3) / 4) * 256;
}
QK_INLINE ptrdiff_t qk_depthwise_size(const qk_qconv_params* p) {
  return QK_PACKED_HEAD + (p->oc + 63) / 64 * qk_depthwise_panel(p);
}
/* The channel at a place of 64. */
QK_INLINE int32_t qk_depthwise_channel(int32_t i) { return i % 16 / 4 * 16 + i / 16 * 4 + i % 4; }

/* Writes qk_depthwise_size bytes; null operands count as 0. */
QK_INLINE void qk_pack_depthwise(const qk_qconv_params* p, const int8_t* w, const int32_t* bias,
                                 const float* multipliers, const float* float_bias, void* to) {
  const int32_t kh = p->k[1], kw = p->k[2], groups = (kh + 3) / 4;
  const int32_t has_float_bias = float_bias != 0;
  uint8_t* out = (uint8_t*)to + QK_PACKED_HEAD;
  int32_t bounded = 1;
  memset(to, 0, (size_t)qk_depthwise_size(p));
  for (int32_t first = 0; first < p->oc; first += 64, out += qk_depthwise_panel(p)) {
    for (int32_t i = 0; i < 64; ++i) {
      const int32_t c = first + qk_depthwise_channel(i);
      const int32_t b = bias && c < p->oc ? bias[c] : 0;
      const float m = multipliers && c < p->oc ? multipliers[c] : 0.0f;
      const float f = float_bias && c < p->oc ? float_bias[c] : 0.0f;
      double most = b < 0 ? -(double)b : (double)b;
      if (c >= p->oc) continue;
      memcpy(out + 4 * i, &b, 4);
      memcpy(out + 256 + 4 * i, &m, 4);
      memcpy(out + 512 + 4 * i, &f, 4);
      for (int32_t tap = 0; tap < kh * kw; ++tap) {
        const int32_t wv = w[(ptrdiff_t)c * kh * kw + tap], y = tap / kw, x = tap % kw;
        int8_t* packed = (int8_t*)out + 768 + (ptrdiff_t)kh * kw * 256;
        memcpy(out + 768 + (ptrdiff_t)tap * 256 + 4 * i, &wv, 4);
        packed[((ptrdiff_t)(x * groups + y / 4) * 64 + i) * 4 + y % 4] = (int8_t)wv;
        most += 255.0 * (wv < 0 ? -wv : wv);
      }
      bounded &= most * (m < 0 ? -(double)m : (double)m) < 2147483000.0;
    }
  }
  memcpy(to, &bounded, 4);
  memcpy((uint8_t*)to + 4, &has_float_bias, 4);
}

/* The inverse, for tests. */
QK_INLINE void qk_unpack_depthwise(const qk_qconv_params* p, const void* blob, int8_t* w,
                                   int32_t* bias, float* multipliers, float* float_bias) {
  const int32_t kh = p->k[1], kw = p->k[2], groups = (kh + 3) / 4;
  const uint8_t* in = (const uint8_t*)blob + QK_PACKED_HEAD;
  for (int32_t first = 0; first < p->oc; first += 64, in += qk_depthwise_panel(p)) {
    for (int32_t i = 0; i < 64; ++i) {
      const int32_t c = first + qk_depthwise_channel(i);
      const int8_t* packed = (const int8_t*)in + 768 + (ptrdiff_t)kh * kw * 256;
      if (c >= p->oc) continue;
      memcpy(bias + c, in + 4 * i, 4);
      memcpy(multipliers + c, in + 256 + 4 * i, 4);
      memcpy(float_bias + c, in + 512 + 4 * i, 4);
      for (int32_t tap = 0; tap < kh * kw; ++tap) {
        w[(ptrdiff_t)c * kh * kw + tap] =
            packed[((ptrdiff_t)(tap % kw * groups + tap / kw / 4) * 64 + i) * 4 + tap / kw % 4];
      }
    }
  }
}

#endif
