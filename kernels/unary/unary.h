#ifndef QK_UNARY_H
#define QK_UNARY_H
#include <stdint.h>

/* y[i] = qn_OP(x[i]) for i < n, OP and its type in the kernel's name. y may be x where both have
 * the same element type. Predicates and `not` write bytes of 0 or 1. */
typedef struct {
  int32_t n;
} qk_unary_params;

/* Functions with parameters: qn_OP(x[i], a, b). Of f64 elements the parameters are doubles and so
 * an operand, {a, b}, with qk_unary_params. */
typedef struct {
  int32_t n;
  float a, b;
} qk_unary_scaled_params;

#endif
