/* Where kernels that store their floats as codes have scales from; kernels/common/ending.h. */
#ifndef QK_MODES_H
#define QK_MODES_H

enum { QK_KNOWN, QK_PER_TOKEN, QK_PER_TENSOR };

#endif
