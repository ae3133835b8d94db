/* Parts of convolutions, for parameter structs of any of them: lines and columns of outputs, and
 * channels. */
#ifndef QK_CONV_LINES_H
#define QK_CONV_LINES_H

#include "kernels/common/units.h"

/* Columns of a unit where outputs are one line. */
#define QK_UNIT_COLUMNS 8

/* Units of outputs that lie channels-last. */
#define QK_LINE_UNITS(p)  \
  ((p)->n * (p)->out[0] * \
   ((p)->out[1] > 1 ? (p)->out[1] : qk_units_of((p)->out[2], QK_UNIT_COLUMNS)))
/* Units of outputs [n, channels, positions]: channels, or the groups they are in. */
#define QK_CHANNEL_UNITS(p) ((p)->n * ((p)->groups > 1 ? (p)->groups : (p)->oc))

/* Lines or columns of one plane; `x` and `y` are by how many elements input and result move on. */
#define QK_LINE_SUBRANGE(p, r, units, x, y)                                                      \
  const int32_t axis = (p)->out[1] > 1 ? 1 : 2;                                                  \
  const qk_items r = qk_items_of((units), (p)->out[axis], axis == 1 ? 1 : QK_UNIT_COLUMNS);      \
  const ptrdiff_t x =                                                                            \
      (ptrdiff_t)(r.batch / (p)->out[0]) * (p)->in[0] * (p)->in[1] * (p)->in[2] * (p)->ic;       \
  const ptrdiff_t y =                                                                            \
      ((ptrdiff_t)r.batch * (p)->out[axis] + r.first) * (axis == 1 ? (p)->out[2] : 1) * (p)->oc; \
  (p)->n = 1;                                                                                    \
  (p)->pad[0] -= r.batch % (p)->out[0] * (p)->stride[0];                                         \
  (p)->out[0] = 1;                                                                               \
  (p)->pad[axis] -= r.first * (p)->stride[axis];                                                 \
  (p)->out[axis] = r.count

/* Channels of one image; `c` is the first, `x`, `w` and `y` are by how many elements input, weights
 * and result move on. */
#define QK_CHANNEL_SUBRANGE(p, r, units, c, x, w, y)                                              \
  const int32_t groups = (p)->groups, icg = (p)->ic / groups, ocg = (p)->oc / groups;             \
  const qk_items r = qk_items_of((units), groups > 1 ? groups : (p)->oc, 1);                      \
  const int32_t c = groups > 1 ? r.first * ocg : r.first;                                         \
  const ptrdiff_t volume = (ptrdiff_t)(p)->in[0] * (p)->in[1] * (p)->in[2];                       \
  const ptrdiff_t x = ((ptrdiff_t)r.batch * (p)->ic + (groups > 1 ? r.first * icg : 0)) * volume; \
  const ptrdiff_t w = (ptrdiff_t)c * icg * (p)->k[0] * (p)->k[1] * (p)->k[2];                     \
  const ptrdiff_t y =                                                                             \
      ((ptrdiff_t)r.batch * (p)->oc + c) * (p)->out[0] * (p)->out[1] * (p)->out[2];               \
  (p)->n = 1;                                                                                     \
  (p)->groups = groups > 1 ? r.count : 1;                                                         \
  (p)->ic = groups > 1 ? r.count * icg : icg;                                                     \
  (p)->oc = groups > 1 ? r.count * ocg : r.count

#endif
