#ifndef QN_CODE_TYPES_H
#define QN_CODE_TYPES_H

/* Types of codes where they are parameters, and of what is no code in their place. */
enum { QK_I8, QK_U8, QK_I16, QK_U16, QK_F32 /* plain floats */, QK_I32 /* plain accumulators */ };

#endif
