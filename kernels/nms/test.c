/* Boxes that are kept, against a search for the best one that is left.
 * run gcc PORTABLE */
#include "kernels/common/testing.h"
#include "kernels/nms/portable.c"

static float side(const float* a, const float* b, int axis) {
  return fminf(a[axis + 2], b[axis + 2]) - fmaxf(a[axis], b[axis]);
}
static float overlap(const float* a, const float* b) {
  const float common = side(a, b, 0) > 0 && side(a, b, 1) > 0 ? side(a, b, 0) * side(a, b, 1) : 0;
  return common / (side(a, a, 0) * side(a, a, 1) + side(b, b, 0) * side(b, b, 1) - common);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int i = 0; i < 200; ++i) {
    qk_nms_params p;
    float *boxes, *scores;
    int64_t *rows, *found, expected[3 * 2 * 2 * 8], used = 0, all;
    int32_t* scratch;
    p.batches = qk_random_in(1, 2), p.classes = qk_random_in(1, 2), p.boxes = qk_random_in(1, 8);
    p.limit = qk_random_in(1, p.boxes), p.center = 0, p.limited = i % 2;
    p.overlap = 0.3f, p.threshold = -0.2f;
    all = (int64_t)p.batches * p.classes * p.limit;
    boxes = qk_random_floats((size_t)(4 * p.batches * p.boxes));
    for (int32_t k = 0; k < p.batches * p.boxes; ++k) { /* corners in eighths: exact areas */
      for (int d = 0; d < 2; ++d) {
        boxes[4 * k + d] = 0.125f * (float)qk_random_in(0, 8);
        boxes[4 * k + d + 2] = boxes[4 * k + d] + 0.125f * (float)qk_random_in(1, 8);
      }
    }
    scores = qk_random_floats((size_t)(p.batches * p.classes * p.boxes));
    rows = (int64_t*)(void*)qk_random_bytes(8 * 3 * (size_t)all);
    found = (int64_t*)(void*)qk_random_bytes(8);
    scratch = (int32_t*)(void*)qk_random_bytes(4 * (size_t)p.boxes);
    for (int32_t u = 0; u < p.batches * p.classes; ++u) {
      const float *own = boxes + u / p.classes * p.boxes * 4, *score = scores + u * p.boxes;
      int selected[8] = {0}, gone[8] = {0}, count = 0;
      while (count < p.limit) {
        int best = -1, covered = 0;
        for (int32_t k = 0; k < p.boxes; ++k) {
          if (gone[k] || (p.limited && !(score[k] > p.threshold))) continue;
          if (best < 0 || score[k] > score[best]) best = k;
        }
        if (best < 0) break;
        gone[best] = 1;
        for (int32_t k = 0; k < p.boxes; ++k)
          covered = covered || (selected[k] && overlap(own + 4 * best, own + 4 * k) > p.overlap);
        if (covered) continue;
        selected[best] = 1, ++count;
        expected[3 * used] = u / p.classes, expected[3 * used + 1] = u % p.classes;
        expected[3 * used++ + 2] = best;
      }
    }
    qk_nms_f32(&p, boxes, scores, rows, found, scratch);
    qk_expect_same("count", found, &used, 8, &p.batches, 6);
    for (int64_t k = 3 * used; k < 3 * all; ++k) expected[k] = -1;
    qk_expect_same("rows", rows, expected, 24 * (size_t)all, &p.batches, 6);
  }
  return 0;
}
QK_TARGET_END
