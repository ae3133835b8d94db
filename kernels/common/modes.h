/* Where kernels that store their floats as codes have scales from; kernels/common/ending.h. Of
 * kernels that may store them otherwise: QK_NO_ENDING. */
#ifndef QK_MODES_H
#define QK_MODES_H

enum { QK_STATIC, QK_PER_TOKEN, QK_PER_TENSOR, QK_NO_ENDING };

#endif
