#include <stddef.h>
#include <string.h>

#include "kernels/common/body.h"
#include "kernels/common/inline.h"
#include "kernels/pad/pad.h"

/* Axis d of the result: i counts the operand's elements and is outside it in the border. */
#define QK_PAD_FOR(d) for (int32_t i##d = -p->before[d]; i##d < p->dims[d] + p->after[d]; ++i##d)
#define QK_PAD_IN(d) (i##d >= 0 && i##d < p->dims[d])

#define QK_WITH 1
#include "kernels/pad/body.inc"
#define QK_WITH 2
#include "kernels/pad/body.inc"
#define QK_WITH 4
#include "kernels/pad/body.inc"
#define QK_WITH 8
#include "kernels/pad/body.inc"
