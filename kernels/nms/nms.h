#ifndef QK_NMS_H
#define QK_NMS_H
#include <stdint.h>

/* rows [batches * classes * limit, 3] holds batch, class and box of what is kept of boxes
 * [batches, boxes, 4] by scores [batches, classes, boxes], at most `limit` of a class, in the order
 * batch, class, falling score; rows from *count on are -1. See kernels/numerics/nms.h. scratch
 * holds `boxes` int32. limit <= boxes. */
typedef struct {
  int32_t batches, classes, boxes, limit, center, limited;
  float overlap, threshold;
} qk_nms_params;

#endif
