/* Convolutions of codes in parts: units are lines of outputs (kernels/conv/lines.h); where those
 * are few, panels of outputs; with channels before positions, channels. */
#include "kernels/common/range.h"
#include "kernels/conv/lines.h"
#include "kernels/qconv/operands.h"
#include "kernels/qconv/pack.h"
#include "kernels/qconv/qconv.h"

/* Lines of outputs that lie channels-last. */
QK_INLINE int32_t qk_qconv_lines_subrange(qk_qconv_params* p, const void** x, const void** residual,
                                          void** y, const int32_t* units) {
  QK_LINE_SUBRANGE(p, r, units, from, to);
  qk_move(x, from * qk_code_bytes(p->x_type));
  QK_MOVE_CODES(p, residual, y, to);
  return r.next;
}

/* ---- portable ---- */

QK_INLINE int32_t qk_qconv_channels_subrange(qk_qconv_params* p, const void** in, void** out,
                                             const int32_t* units, ptrdiff_t w_bytes,
                                             ptrdiff_t bias_bytes) {
  QK_CHANNEL_SUBRANGE(p, r, units, c, x, w, y);
  qk_move(&in[QK_QCONV_PLAIN_IN_X], x * qk_code_bytes(p->x_type));
  qk_move(&in[QK_QCONV_PLAIN_IN_W], w * w_bytes);
  qk_move_outputs(&in[QK_QCONV_PLAIN_IN_BIAS], &in[QK_QCONV_PLAIN_IN_MULTIPLIERS],
                  &in[QK_QCONV_PLAIN_IN_FLOAT_BIAS], &in[QK_QCONV_PLAIN_IN_W_ZEROS], c,
                  p->epilogue.result.q31, bias_bytes);
  QK_MOVE_CODES(p, &in[QK_QCONV_PLAIN_IN_RESIDUAL], &out[QK_QCONV_PLAIN_OUT_Y], y);
  return r.next;
}
#define QK_SPLIT_QCONV_PLAIN(types, W, S)                                                  \
  QK_INLINE int32_t qk_qconv_plain_##types##_units(const qk_qconv_params* p) {             \
    return p->nhwc ? QK_LINE_UNITS(p) : QK_CHANNEL_UNITS(p);                               \
  }                                                                                        \
  QK_INLINE int32_t qk_qconv_plain_##types##_subrange(qk_qconv_params* p, const void** in, \
                                                      void** out, const int32_t* units) {  \
    return p->nhwc ? qk_qconv_lines_subrange(p, &in[QK_QCONV_PLAIN_IN_X],                  \
                                             &in[QK_QCONV_PLAIN_IN_RESIDUAL],              \
                                             &out[QK_QCONV_PLAIN_OUT_Y], units)            \
                   : qk_qconv_channels_subrange(p, in, out, units, W, S);                  \
  }
QK_SPLIT_QCONV_PLAIN(i8_i32, 1, 4)
QK_SPLIT_QCONV_PLAIN(i8_i64, 1, 8)
QK_SPLIT_QCONV_PLAIN(i16_i64, 2, 8)

QK_INLINE int32_t qk_qconv_nhwc_units(const qk_qconv_params* p) { return QK_LINE_UNITS(p); }
QK_INLINE int32_t qk_qconv_nhwc_subrange(qk_qconv_params* p, const void** in, void** out,
                                         const int32_t* units) {
  return qk_qconv_lines_subrange(p, &in[QK_QCONV_NHWC_IN_X], &in[QK_QCONV_NHWC_IN_RESIDUAL],
                                 &out[QK_QCONV_NHWC_OUT_Y], units);
}

/* ---- weights packed for a machine ---- */

QK_INLINE int32_t qk_qconv_depthwise_packed_units(const qk_qconv_params* p) {
  return QK_LINE_UNITS(p);
}
QK_INLINE int32_t qk_qconv_depthwise_packed_subrange(qk_qconv_params* p, const void** in,
                                                     void** out, const int32_t* units) {
  return qk_qconv_lines_subrange(p, &in[QK_QCONV_DEPTHWISE_PACKED_IN_X],
                                 &in[QK_QCONV_DEPTHWISE_PACKED_IN_RESIDUAL],
                                 &out[QK_QCONV_DEPTHWISE_PACKED_OUT_Y], units);
}

QK_INLINE int32_t qk_packed_conv_panels(const qk_qconv_params* p, qk_panels panels_of) {
  const qk_pack_params pack = qk_qconv_packing(p);
  return p->groups * qk_packed_layout(panels_of, &pack).panels;
}
QK_INLINE int32_t qk_packed_conv_units(const qk_qconv_params* p, qk_panels panels_of) {
  const int32_t lines = QK_LINE_UNITS(p), panels = qk_packed_conv_panels(p, panels_of);
  return qk_units_are_panels(lines, panels) ? panels : lines;
}
QK_INLINE int32_t qk_packed_conv_subrange(qk_qconv_params* p, const void** in, void** out,
                                          int32_t* units, qk_panels panels_of) {
  if (qk_units_are_panels(QK_LINE_UNITS(p), qk_packed_conv_panels(p, panels_of))) {
    units[2] = units[0];
    units[3] = units[1];
    in[QK_QCONV_PACKED_IN_PANELS] = units + 2;
    return units[1];
  }
  return qk_qconv_lines_subrange(p, &in[QK_QCONV_PACKED_IN_X], &in[QK_QCONV_PACKED_IN_RESIDUAL],
                                 &out[QK_QCONV_PACKED_OUT_Y], units);
}
#define QK_SPLIT_PACKED_CONV(machine, PANELS)                                                 \
  QK_INLINE int32_t qk_qconv_packed_##machine##_units(const qk_qconv_params* p) {             \
    const qk_panels panels_of = PANELS;                                                       \
    return qk_packed_conv_units(p, panels_of);                                                \
  }                                                                                           \
  QK_INLINE int32_t qk_qconv_packed_##machine##_subrange(qk_qconv_params* p, const void** in, \
                                                         void** out, int32_t* units) {        \
    const qk_panels panels_of = PANELS;                                                       \
    return qk_packed_conv_subrange(p, in, out, units, panels_of);                             \
  }
QK_SPLIT_PACKED_CONV(avx512vnni, QK_PANELS_AVX512VNNI)
QK_SPLIT_PACKED_CONV(avx2, QK_PANELS_AVX2)

QK_SPLIT_RANGE(qk_qconv_transpose, qk_qconv_transpose_params, p->n * p->oc)
