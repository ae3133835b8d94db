#include <stddef.h>
#include <string.h>

#include "kernels/common/body.h"
#include "kernels/common/inline.h"
#include "kernels/strided/strided.h"

#define QK_STRIDED_FOR(d) for (int32_t i##d = 0; i##d < p->dims[d]; ++i##d)
#define QK_STRIDED_AT(s)                                                         \
  ((ptrdiff_t)i0 * p->s[0] + (ptrdiff_t)i1 * p->s[1] + (ptrdiff_t)i2 * p->s[2] + \
   (ptrdiff_t)i3 * p->s[3] + (ptrdiff_t)i4 * p->s[4] + (ptrdiff_t)i5 * p->s[5])

#define QK_WITH 1
#include "kernels/strided/body.inc"
#define QK_WITH 2
#include "kernels/strided/body.inc"
#define QK_WITH 4
#include "kernels/strided/body.inc"
#define QK_WITH 8
#include "kernels/strided/body.inc"
