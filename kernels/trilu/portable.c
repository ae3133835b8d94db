#include <stddef.h>
#include <string.h>

#include "kernels/common/body.h"
#include "kernels/common/inline.h"
#include "kernels/trilu/trilu.h"

#define QK_WITH 1
#include "kernels/trilu/body.inc"
#define QK_WITH 2
#include "kernels/trilu/body.inc"
#define QK_WITH 4
#include "kernels/trilu/body.inc"
#define QK_WITH 8
#include "kernels/trilu/body.inc"
