/* Calls of kernels in parts, for threads: what the split.c of kernel folders share.
 *
 * A call has units, which write disjoint bytes. For each kernel that can be split there are
 *   int32_t NAME_units(const PARAMS* p)
 *       how many units a call has;
 *   int32_t NAME_subrange(PARAMS* p, const void** in, void** out, int32_t* units)
 *       makes of a call of all units one of units [units[0], units[1]), or of the first of them:
 *       changes parameters and moves operands and results on. Returns the first unit that is left.
 *       units[2] and units[3] are its own: an operand may point to them while the kernel runs.
 * The kernel itself is called with what the part made; it knows of no units. */
#ifndef QK_UNITS_H
#define QK_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/common/codes.h"
#include "kernels/common/inline.h"

/* Neighbouring items [first, first + count) of one batch; `next` is the first unit beyond. */
typedef struct qk_items {
  int32_t batch, first, count, next;
} qk_items;

QK_INLINE int32_t qk_units_of(int32_t items, int32_t each) { return (items + each - 1) / each; }

/* The items of the first units, where a batch has `items` of them in units of `each`. */
QK_INLINE qk_items qk_items_of(const int32_t* units, int32_t items, int32_t each) {
  const int32_t all = qk_units_of(items, each), unit = units[0] % all;
  const int32_t room = all - unit, left = units[1] - units[0], take = left < room ? left : room;
  qk_items r;
  r.batch = units[0] / all;
  r.first = unit * each;
  r.count = items - r.first < take * each ? items - r.first : take * each;
  r.next = units[0] + take;
  return r;
}

/* Rows of a unit. */
QK_INLINE int32_t qk_unit_rows(int32_t m) { return m < 16 ? 1 : 4; }

/* Whether few neighbours make panels of outputs the better units. */
QK_INLINE int qk_units_are_panels(int32_t units, int32_t panels) {
  return units < 8 && panels > units;
}

QK_INLINE ptrdiff_t qk_code_bytes(int32_t type) {
  return type <= QK_U8 ? 1 : type <= QK_U16 ? 2 : 4;
}

/* Moves an operand or a result on, where there is one. */
QK_INLINE void qk_move(const void** at, ptrdiff_t bytes) {
  if (*at) *at = (const uint8_t*)*at + bytes;
}
QK_INLINE void qk_move_result(void** at, ptrdiff_t bytes) { *at = (uint8_t*)*at + bytes; }

/* Moves a result on by elements, and the residual that lies like it. */
#define QK_MOVE_CODES(p, residual, y, elements)                                           \
  qk_move_result((y), (elements)*qk_code_bytes(*(residual) ? (p)->epilogue.add.y_type     \
                                                           : (p)->epilogue.result.type)); \
  qk_move((residual), (elements)*qk_code_bytes((p)->epilogue.add.type))

/* Moves what there is one of for each output, multipliers being numbers or pairs of them. */
QK_INLINE void qk_move_outputs(const void** bias, const void** multipliers, const void** float_bias,
                               const void** w_zeros, int32_t outputs, int32_t q31,
                               ptrdiff_t bias_bytes) {
  qk_move(bias, outputs * bias_bytes);
  qk_move(multipliers, (ptrdiff_t)outputs * (q31 ? 8 : 4));
  qk_move(float_bias, (ptrdiff_t)outputs * 4);
  qk_move(w_zeros, (ptrdiff_t)outputs * 4);
}

#endif
