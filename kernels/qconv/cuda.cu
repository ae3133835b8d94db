/* One unit is one output of one channel; weights as the model has them, [oc, ic/groups, k...]. */
#include "kernels/common/body.h"
#include "kernels/common/cuda.h"
#include "kernels/conv/taps.h"
#include "kernels/qconv/qconv.h"
#include "kernels/qtile/output.h"

/* An output: its image, channel and position. */
typedef struct qk_qconv_position {
  int64_t n;
  int32_t channel, at[3];
} qk_qconv_position;

QK_UNIT qk_qconv_position qk_qconv_position_of(const qk_qconv_params* p, int64_t unit) {
  qk_qconv_position o;
  const int64_t points = (int64_t)p->out[0] * p->out[1] * p->out[2];
  const int64_t row = p->nhwc ? unit / p->oc : unit / points / p->oc * points + unit % points;
  const int64_t point = row % points;
  o.n = row / points;
  o.channel = (int32_t)(p->nhwc ? unit % p->oc : unit / points % p->oc);
  o.at[0] = (int32_t)(point / ((int64_t)p->out[1] * p->out[2]));
  o.at[1] = (int32_t)(point / p->out[2] % p->out[1]);
  o.at[2] = (int32_t)(point % p->out[2]);
  return o;
}

#define QK_WITH i8_i32, int8_t, int32_t, uint32_t
#include "kernels/qconv/cuda.inc"
#define QK_WITH i8_i64, int8_t, int64_t, uint64_t
#include "kernels/qconv/cuda.inc"
#define QK_WITH i16_i64, int16_t, int64_t, uint64_t
#include "kernels/qconv/cuda.inc"
