#include <stddef.h>

#include "kernels/common/inline.h"
#include "kernels/nms/nms.h"
#include "kernels/numerics/nms.h"

QK_INLINE void qk_nms_f32(const qk_nms_params* p, const float* boxes, const float* scores,
                          int64_t* rows, int64_t* count, int32_t* scratch) {
  const size_t all = (size_t)p->batches * (size_t)p->classes * (size_t)p->limit;
  size_t used = 0;
  for (int32_t b = 0; b < p->batches; ++b) {
    for (int32_t c = 0; c < p->classes; ++c) {
      qn_nms s;
      s.boxes = boxes + 4 * (size_t)b * (size_t)p->boxes;
      s.scores = scores + ((size_t)b * (size_t)p->classes + (size_t)c) * (size_t)p->boxes;
      s.order = scratch;
      s.center = p->center;
      s.overlap = p->overlap;
      qn_nms_start(&s, p->boxes, p->limited, p->threshold);
      while (s.left > 0 && s.selected < p->limit) {
        if (!qn_nms_step(&s)) continue;
        rows[3 * used] = b;
        rows[3 * used + 1] = c;
        rows[3 * used + 2] = s.order[s.candidates - s.selected];
        ++used;
      }
    }
  }
  *count = (int64_t)used;
  for (size_t i = 3 * used; i < 3 * all; ++i) rows[i] = -1;
}
