/* Convolutions in parts: units are lines of outputs, or columns where there is one line; with
 * channels before positions, they are channels. */
#include "kernels/common/range.h"
#include "kernels/common/units.h"
#include "kernels/conv/conv.h"
#include "kernels/conv/lines.h"
#include "kernels/conv/operands.h"

/* Elements of `bytes`. */
QK_INLINE int32_t qk_conv_lines_subrange(qk_conv_params* p, const void** in, void** out,
                                         const int32_t* units, ptrdiff_t bytes) {
  QK_LINE_SUBRANGE(p, r, units, x, y);
  qk_move(&in[QK_CONV_PLAIN_IN_X], x * bytes);
  qk_move(&in[QK_CONV_PLAIN_IN_RESIDUAL], y * bytes);
  qk_move_result(&out[QK_CONV_PLAIN_OUT_Y], y * bytes);
  return r.next;
}
QK_INLINE int32_t qk_conv_channels_subrange(qk_conv_params* p, const void** in, void** out,
                                            const int32_t* units, ptrdiff_t bytes) {
  QK_CHANNEL_SUBRANGE(p, r, units, c, x, w, y);
  qk_move(&in[QK_CONV_PLAIN_IN_X], x * bytes);
  qk_move(&in[QK_CONV_PLAIN_IN_W], w * bytes);
  qk_move(&in[QK_CONV_PLAIN_IN_BIAS], c * bytes);
  qk_move(&in[QK_CONV_PLAIN_IN_RESIDUAL], y * bytes);
  qk_move_result(&out[QK_CONV_PLAIN_OUT_Y], y * bytes);
  return r.next;
}

#define QK_SPLIT_CONV(path, BYTES)                                                            \
  QK_INLINE int32_t qk_conv_##path##_units(const qk_conv_params* p) {                         \
    return p->nhwc ? QK_LINE_UNITS(p) : QK_CHANNEL_UNITS(p);                                  \
  }                                                                                           \
  QK_INLINE int32_t qk_conv_##path##_subrange(qk_conv_params* p, const void** in, void** out, \
                                              const int32_t* units) {                         \
    return p->nhwc ? qk_conv_lines_subrange(p, in, out, units, BYTES)                         \
                   : qk_conv_channels_subrange(p, in, out, units, BYTES);                     \
  }
QK_SPLIT_CONV(nchw_f32, 4)
QK_SPLIT_CONV(nchw_f64, 8)
QK_SPLIT_CONV(nchw_f16, 2)
QK_SPLIT_CONV(nchw_bf16, 2)
#define QK_SPLIT_CONV_LAST(path)                                                                 \
  QK_INLINE int32_t qk_conv_##path##_units(const qk_conv_params* p) { return QK_LINE_UNITS(p); } \
  QK_INLINE int32_t qk_conv_##path##_subrange(qk_conv_params* p, const void** in, void** out,    \
                                              const int32_t* units) {                            \
    return qk_conv_lines_subrange(p, in, out, units, 4);                                         \
  }
QK_SPLIT_CONV_LAST(nhwc_f32)
QK_SPLIT_CONV_LAST(depthwise_f32)

QK_SPLIT_RANGE(qk_conv_transpose, qk_conv_transpose_params, p->n * p->oc)

/* Weights to panels, a unit for each. */
QK_INLINE int32_t qk_conv_pack_units(const qk_conv_pack_params* p) {
  return p->groups * qk_units_of(p->ocg, 16);
}
QK_INLINE int32_t qk_conv_pack_subrange(qk_conv_pack_params* p, const void** in, void** out,
                                        const int32_t* units) {
  const qk_items r = qk_items_of(units, p->ocg, 16);
  const ptrdiff_t each = (ptrdiff_t)p->icg * p->taps;
  qk_move(&in[QK_CONV_PACK_IN_W], ((ptrdiff_t)r.batch * p->ocg + r.first) * each * 4);
  qk_move_result(&out[QK_CONV_PACK_OUT_PACKED], (ptrdiff_t)units[0] * each * 64);
  p->groups = 1;
  p->ocg = r.count;
  return r.next;
}
