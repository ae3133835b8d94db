#ifndef QK_QSOFTMAX_H
#define QK_QSOFTMAX_H
#include <stdint.h>

/* ONNX Runtime's QLinearSoftmax on codes of 8 bits, [outer, n, inner] with rows along n: with t the
 * table and m the largest code of a row, e = t[255 - (m - x)] and s the f32 sum of all e in order,
 * y = round(e * steps / s) + zero (qn_softmax_code_ort). Arguments: x, table of 256 f32, y. y may
 * be x. */
typedef struct {
  int32_t outer, n, inner;
  int32_t type_x, type_y;
  int32_t zero, lo, hi;
  float steps;
} qk_qsoftmax_params;

#endif
