/* Non-maximum suppression: the boxes of one image, chosen by the scores of one class. The best box
 * that is left is kept unless it overlaps one kept before by more than a limit. */
#ifndef QN_NMS_H
#define QN_NMS_H

#include "base.h"

typedef struct {
  const float* boxes;  /* [n, 4]: two opposite corners y, x; with `center` x, y, width, height */
  const float* scores; /* [n] */
  int32_t* order;      /* n places: a heap of the boxes left; at the end those kept, backwards */
  int32_t candidates, left, selected, center;
  float overlap;
} qn_nms;

/* Whether box a is chosen before box b: by the higher score, of equal ones by the lower index. NaN
 * is below every number. */
QN_FN int qn_nms_before(const qn_nms* s, int32_t a, int32_t b) {
  const float x = s->scores[a], y = s->scores[b];
  if (x > y) return 1;
  if (x < y) return 0;
  if (qn_isnan_f32(x) != qn_isnan_f32(y)) return qn_isnan_f32(y);
  return a < b;
}

/* Moves the box at this place of the heap down to where it belongs. */
QN_FN void qn_nms_sink(const qn_nms* s, int32_t at) {
  const int32_t moved = s->order[at];
  while (at < s->left / 2) {
    int32_t child = 2 * at + 1;
    if (child + 1 < s->left && qn_nms_before(s, s->order[child + 1], s->order[child])) ++child;
    if (!qn_nms_before(s, s->order[child], moved)) break;
    s->order[at] = s->order[child];
    at = child;
  }
  s->order[at] = moved;
}

/* Takes up the boxes, with `limited` only those whose score is above the threshold. */
QN_FN void qn_nms_start(qn_nms* s, int32_t n, int limited, float threshold) {
  int32_t i;
  s->left = s->selected = 0;
  for (i = 0; i < n; ++i) {
    if (!limited || s->scores[i] > threshold) s->order[s->left++] = i;
  }
  s->candidates = s->left;
  for (i = s->left / 2; i > 0; --i) qn_nms_sink(s, i - 1);
}

/* From where to where a box reaches along an axis. */
QN_FN void qn_nms_side(const float* box, int axis, int center, float* low, float* high) {
  const float a = box[axis], b = box[axis + 2];
  if (center) {
    *low = a - b / 2.0f;
    *high = a + b / 2.0f;
  } else if (a >= b) {
    *low = b;
    *high = a;
  } else {
    *low = a;
    *high = b;
  }
}

/* Whether the common part of two boxes is more than `overlap` of what they cover together. Boxes
 * without an area, or with a NaN, overlap nothing. */
QN_FN int qn_nms_overlap(const float* a, const float* b, int center, float overlap) {
  float size_a[2], size_b[2], common[2];
  float area_a, area_b, both, all;
  int axis;
  for (axis = 0; axis < 2; ++axis) {
    float low_a, high_a, low_b, high_b;
    qn_nms_side(a, axis, center, &low_a, &high_a);
    qn_nms_side(b, axis, center, &low_b, &high_b);
    size_a[axis] = high_a - low_a;
    size_b[axis] = high_b - low_b;
    common[axis] = (high_b < high_a ? high_b : high_a) - (low_a < low_b ? low_b : low_a);
    if (common[axis] <= 0.0f) return 0;
  }
  both = qn_mulf(common[0], common[1]);
  area_a = qn_mulf(size_a[0], size_a[1]);
  area_b = qn_mulf(size_b[0], size_b[1]);
  all = area_a + area_b - both;
  if (both <= 0.0f || area_a <= 0.0f || area_b <= 0.0f || all <= 0.0f) return 0;
  return both / all > overlap;
}

/* Decides on the best box that is left; 1 when it is kept. Box k of those kept is at place
 * candidates - 1 - k. */
QN_FN int qn_nms_step(qn_nms* s) {
  const int32_t best = s->order[0];
  int32_t k;
  s->order[0] = s->order[--s->left];
  qn_nms_sink(s, 0);
  for (k = 0; k < s->selected; ++k) {
    const int32_t other = s->order[s->candidates - 1 - k];
    if (qn_nms_overlap(s->boxes + 4 * (int64_t)best, s->boxes + 4 * (int64_t)other, s->center,
                       s->overlap)) {
      return 0;
    }
  }
  s->order[s->candidates - 1 - s->selected++] = best;
  return 1;
}

#endif /* QN_NMS_H */
