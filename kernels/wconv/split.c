/* Units are panels of outputs of an image, positions where channels are apart; of transposed
 * convolutions, channels. */
#include "kernels/common/range.h"
#include "kernels/wconv/wconv.h"

QK_SPLIT_RANGE(qk_wconv, qk_wconv_params, p->n * p->groups * ((p->oc / p->groups + 15) / 16))
QK_SPLIT_RANGE(qk_wconv_depthwise, qk_wconv_params, p->n * p->out[0] * p->out[1] * p->out[2])
QK_SPLIT_RANGE(qk_wconv_transpose, qk_wconv_params, p->n * p->oc)
