/* How the weights of a convolution, [oc, ic / groups, k...], are packed for vector kernels: see
 * kernels/qtile/pack.h. The taps of a line are one run where their inputs are neighbours. */
#ifndef QK_QCONV_PACK_H
#define QK_QCONV_PACK_H

#include "kernels/qconv/qconv.h"
#include "kernels/qtile/pack.h"

QK_INLINE qk_pack_params qk_qconv_packing(const qk_qconv_params* p) {
  const int32_t icg = p->ic / p->groups, taps = p->k[0] * p->k[1] * p->k[2];
  const qk_pack_params pack = {p->groups,
                               p->oc / p->groups,
                               icg,
                               {p->k[0], p->k[1], p->k[2]},
                               p->groups == 1 && p->dilation[2] == 1,
                               icg * taps,
                               1,
                               taps,
                               0};
  return pack;
}

#endif
