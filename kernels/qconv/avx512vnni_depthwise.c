/* Depthwise qconv with vpdpbusd: x and y channels-last, one input and output channel per group,
 * weights packed by kernels/qconv/pack_depthwise.h.
 *
 * Takes the calls that kernels/qtile/accepts.h allows, with the bits of qk_qconv_depthwise, where
 * groups == ic == oc, the first axis has size, kernel and stride 1 and no padding, and the kernel
 * has at most 8 rows. Fastest with 3 x 3 and 5 x 5 taps, strides 1 and 2, and many channels. Needs
 * avx512f, bw, vl, dq and vnni for all functions. Blobs lie at multiples of 4 bytes, on 64 they are
 * fastest; no scratch; at most 5 KiB of stack.
 *
 * The bytes of one column and four rows are transposed, so that one instruction sums four taps of
 * 16 channels. A column serves all outputs of a block that have it. Rows and columns outside the
 * input are read as zeros under an empty mask; the zero point of x is taken off for the taps that
 * there are. */
#include "kernels/common/inline.h"
#include "kernels/conv/taps.h"
#include "kernels/qconv/pack_depthwise.h"
#include "kernels/qconv/qconv.h"
#include "kernels/qtile/avx512vnni_tile.h"

/* One line of outputs, 64 channels. */
typedef struct qk_dw_line {
  const uint8_t* rows[8]; /* of column 0; some row of the input where there is none */
  __mmask64 masks[8];     /* channels that are read */
  const int32_t* bias;
  const int32_t* taps; /* weights as 32-bit numbers */
  const int8_t* w;
  int32_t h0, h1; /* rows of taps that are inside */
  ptrdiff_t pixel;
  int32_t zero;
} qk_dw_line;

/* Four vectors of a column's rows 4 * group and on, of which there are at most `rows`. */
QK_INLINE void qk_dw_column(const qk_dw_line* l, ptrdiff_t at, int group, int rows, __m512i* v) {
  const uint8_t* const* r = l->rows + 4 * group;
  const __mmask64* k = l->masks + 4 * group;
  const __m512i none = _mm512_setzero_si512();
  const __m512i a = _mm512_maskz_loadu_epi8(k[0], r[0] + at);
  const __m512i b = rows > 1 ? _mm512_maskz_loadu_epi8(k[1], r[1] + at) : none;
  const __m512i c = rows > 2 ? _mm512_maskz_loadu_epi8(k[2], r[2] + at) : none;
  const __m512i d = rows > 3 ? _mm512_maskz_loadu_epi8(k[3], r[3] + at) : none;
  const __m512i ab0 = _mm512_unpacklo_epi8(a, b), ab1 = _mm512_unpackhi_epi8(a, b);
  const __m512i cd0 = _mm512_unpacklo_epi8(c, d), cd1 = _mm512_unpackhi_epi8(c, d);
  v[0] = _mm512_unpacklo_epi16(ab0, cd0);
  v[1] = _mm512_unpackhi_epi16(ab0, cd0);
  v[2] = _mm512_unpacklo_epi16(ab1, cd1);
  v[3] = _mm512_unpackhi_epi16(ab1, cd1);
}

/* What becomes of the accumulators of some neighbouring outputs. */
QK_INLINE void qk_dw_finish(const qk_ptile* t, const __m512i* acc, uint8_t* y, ptrdiff_t at,
                            const int outputs) {
  int32_t accumulators[16 * 16];
  if (t->path == QK_PTILE_CODES) {
    QK_EACH for (int b = 0; b < outputs; ++b) {
      qk_vnni_codes(t, acc + 4 * b, y + at + b * t->y_row, 4);
    }
    return;
  }
  QK_EACH for (int i = 0; i < 4 * outputs; ++i) {
    _mm512_storeu_si512((void*)(accumulators + 16 * i), acc[i]);
  }
  qk_vnni_finish_4(t, accumulators, 0, outputs, y, at);
}

/* `blocks` blocks of B neighbouring outputs, all columns of whose taps are inside: the first has
 * tap 0 at column `column`. */
QK_INLINE void qk_dw_blocks_of(const qk_ptile* t, const qk_dw_line* l, int32_t column,
                               int32_t blocks, uint8_t* y, ptrdiff_t at, const int groups,
                               const int k, const int stride, const int B) {
  const qk_dw_line own = *l; /* nothing that is stored can change it */
  const int rows = k;
  QK_NOT_EACH for (; blocks > 0; --blocks, column += B * stride, at += B * t->y_row) {
    __m512i acc[16];
    QK_EACH for (int i = 0; i < 4 * B; ++i) {
      acc[i] = _mm512_loadu_si512((const void*)(t->start + 16 * (i % 4)));
    }
    QK_EACH for (int c = 0; c < (B - 1) * stride + k; ++c) {
      QK_EACH for (int g = 0; g < groups; ++g) {
        __m512i x[4];
        qk_dw_column(&own, (column + c) * own.pixel, g, rows - 4 * g, x);
        QK_EACH for (int b = 0; b < B; ++b) {
          const int tap = c - b * stride;
          if (tap >= 0 && tap < k) {
            QK_EACH for (int v = 0; v < 4; ++v) {
              const __m512i w =
                  _mm512_loadu_si512((const void*)(own.w + ((tap * groups + g) * 4 + v) * 64));
              acc[4 * b + v] = _mm512_dpbusd_epi32(acc[4 * b + v], x[v], w);
            }
          }
        }
      }
    }
    qk_dw_finish(t, acc, y, at, B);
  }
}

#define QK_DW_BLOCKS(name, G, K, S, B)                                                        \
  QK_SHARED void name(const qk_ptile* t, const qk_dw_line* l, int32_t column, int32_t blocks, \
                      uint8_t* y, ptrdiff_t at) {                                             \
    qk_dw_blocks_of(t, l, column, blocks, y, at, G, K, S, B);                                 \
  }
QK_DW_BLOCKS(qk_dw_blocks_3s1, 1, 3, 1, 4)
QK_DW_BLOCKS(qk_dw_blocks_3s2, 1, 3, 2, 3)
QK_DW_BLOCKS(qk_dw_blocks_5s1, 2, 5, 1, 2)
QK_DW_BLOCKS(qk_dw_blocks_5s2, 2, 5, 2, 2)

/* One output of any kernel whose taps [w0, w1) are inside, tap 0 being at column `column`. */
QK_SHARED void qk_dw_one(const qk_ptile* t, const qk_qconv_params* p, const qk_dw_line* l,
                         int32_t column, int32_t w0, int32_t w1, uint8_t* y, ptrdiff_t at) {
  const int32_t groups = (p->k[1] + 3) / 4;
  const __m512i zero = _mm512_set1_epi32(l->zero);
  __m512i acc[4];
  QK_EACH for (int v = 0; v < 4; ++v) acc[v] = _mm512_loadu_si512((const void*)(l->bias + 16 * v));
  for (int32_t h = l->h0; l->zero && h < l->h1; ++h) {
    for (int32_t c = w0; c < w1; ++c) {
      const int32_t* tap = l->taps + (ptrdiff_t)(h * p->k[2] + c) * 64;
      QK_EACH for (int v = 0; v < 4; ++v) {
        const __m512i w = _mm512_loadu_si512((const void*)(tap + 16 * v));
        acc[v] = _mm512_sub_epi32(acc[v], _mm512_mullo_epi32(zero, w));
      }
    }
  }
  for (int32_t c = w0; c < w1; ++c) {
    for (int32_t g = 0; g < groups; ++g) {
      const int8_t* wk = l->w + (ptrdiff_t)(c * groups + g) * 256;
      __m512i x[4];
      qk_dw_column(l, (column + c * p->dilation[2]) * l->pixel, g, 4, x);
      QK_EACH for (int v = 0; v < 4; ++v) {
        const __m512i w = _mm512_loadu_si512((const void*)(wk + 64 * v));
        acc[v] = _mm512_dpbusd_epi32(acc[v], x[v], w);
      }
    }
  }
  qk_dw_finish(t, acc, y, at, 1);
}

/* Outputs that are computed together; 0: each on its own. */
QK_INLINE int32_t qk_dw_together(const qk_qconv_params* p) {
  const int32_t s = p->stride[2], k = p->k[2];
  if (p->dilation[2] != 1 || s > 2 || p->k[1] != k) return 0;
  return k == 3 ? (s == 1 ? 4 : 3) : k == 5 ? 2 : 0;
}
QK_INLINE void qk_dw_blocks(const qk_ptile* t, const qk_qconv_params* p, const qk_dw_line* l,
                            int32_t column, int32_t blocks, uint8_t* y, ptrdiff_t at) {
  const int32_t s = p->stride[2], k = p->k[2];
  if (k == 3 && s == 1) qk_dw_blocks_3s1(t, l, column, blocks, y, at);
  if (k == 3 && s == 2) qk_dw_blocks_3s2(t, l, column, blocks, y, at);
  if (k == 5 && s == 1) qk_dw_blocks_5s1(t, l, column, blocks, y, at);
  if (k == 5 && s == 2) qk_dw_blocks_5s2(t, l, column, blocks, y, at);
}

/* A line of outputs, those of columns [left, right) having all columns of their taps inside. The
 * last block of them may begin with outputs that are done, unless y may be the residual. */
QK_INLINE void qk_dw_outputs(const qk_ptile* t, const qk_qconv_params* p, const qk_dw_line* l,
                             int32_t left, int32_t right, uint8_t* y, ptrdiff_t at) {
  const int32_t together = qk_dw_together(p);
  for (int32_t o = 0; o < p->out[2];) {
    const int32_t some = together && o >= left && o < right ? (right - o) / together : 0;
    const int32_t again = together && !t->residual && o < right && o - together >= left &&
                          right - o < together && right - o >= 2;
    const int32_t from = again ? right - together : o;
    const int32_t column = from * p->stride[2] - p->pad[2];
    if (some || again) {
      qk_dw_blocks(t, p, l, column, again ? 1 : some, y, at + from * t->y_row);
      o = from + together * (again ? 1 : some);
    } else {
      int32_t w0, w1;
      qk_taps(column, p->dilation[2], p->k[2], p->in[2], &w0, &w1);
      qk_dw_one(t, p, l, column, w0, w1, y, at + o * t->y_row);
      o += 1;
    }
  }
}

/* The rows of a line of outputs, and the start of accumulators whose columns are all inside. */
QK_INLINE void qk_dw_rows(const qk_qconv_params* p, qk_dw_line* l, const uint8_t* x, int32_t oh,
                          __mmask64 channels, int32_t* start) {
  const ptrdiff_t line = (ptrdiff_t)p->in[2] * p->oc;
  const int32_t first = oh * p->stride[1] - p->pad[1];
  int32_t h0, h1;
  qk_taps(first, p->dilation[1], p->k[1], p->in[1], &h0, &h1);
  for (int32_t r = 0; r < 8; ++r) {
    const int in = r >= h0 && r < h1;
    l->rows[r] = x + (in ? (first + r * p->dilation[1]) * line : 0);
    l->masks[r] = in ? channels : 0;
  }
  if (h0 == l->h0 && h1 == l->h1) return;
  l->h0 = h0;
  l->h1 = h1;
  memcpy(start, l->bias, 256);
  for (int32_t tap = h0 * p->k[2]; l->zero && tap < h1 * p->k[2]; ++tap) {
    qk_ptile_less(start, l->taps + (ptrdiff_t)tap * 64, l->zero, 4);
  }
}

QK_INLINE void qk_qdepthwise_avx512vnni(const qk_qconv_params* p, const uint8_t* x,
                                        const uint8_t* w, const float* x_scale,
                                        const int32_t* x_zero, const void* residual, void* y) {
  const int32_t* head = (const int32_t*)(const void*)w;
  const ptrdiff_t x_image = (ptrdiff_t)p->in[1] * p->in[2] * p->oc;
  const ptrdiff_t y_line = (ptrdiff_t)p->out[2] * p->oc;
  int32_t start[64], left, right;
  float scales[64];
  qk_dw_line l;
  qk_ptile t;
  t.y_row = p->oc;
  t.start = start;
  t.row_start = 0;
  t.weight_sums = t.x_zeros = 0;
  t.x_scales = 0;
  t.residual = (const uint8_t*)residual;
  t.unbounded = !head[0];
  qk_ptile_output(&t, &p->epilogue);
  l.pixel = p->oc;
  l.zero = x_zero ? *x_zero : p->x_zero;
  qk_taps_inside(p->in[2], p->out[2], p->k[2], p->stride[2], p->dilation[2], p->pad[2], &left,
                 &right);
  for (int32_t first = 0; first < p->oc; first += 64) {
    const uint8_t* panel = w + QK_PACKED_HEAD + first / 64 * qk_depthwise_panel(p);
    t.columns = p->oc - first < 64 ? p->oc - first : 64;
    t.multipliers = (const float*)(const void*)(panel + 256);
    if (x_scale) qk_ptile_scale(&t, 64, *x_scale, scales);
    t.float_bias = head[1] ? (const float*)(const void*)(panel + 512) : 0;
    l.bias = (const int32_t*)(const void*)panel;
    l.taps = (const int32_t*)(const void*)(panel + 768);
    l.w = (const int8_t*)panel + 768 + (ptrdiff_t)p->k[1] * p->k[2] * 256;
    l.h0 = l.h1 = -1;
    for (int32_t line = 0; line < p->n * p->out[1]; ++line) {
      qk_dw_rows(p, &l, x + line / p->out[1] * x_image + first, line % p->out[1],
                 ~(__mmask64)0 >> (64 - t.columns), start);
      qk_dw_outputs(&t, p, &l, left, right, (uint8_t*)y, line * y_line + first);
    }
  }
}
