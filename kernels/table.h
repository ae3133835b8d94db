/* The tables that the build makes from every folder's kernels.sig (cmake/kernel_tables.py). */
#ifndef QK_TABLE_H
#define QK_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* How a call of a kernel becomes a stage of the call before it. Lists are separated by blanks. */
typedef struct qk_fusion {
  const char* kernel;
  int joins;              /* changes the stage that is there */
  const char* count;      /* the member that counts the elements */
  const char* conditions; /* "op=add arithmetic=exact,ort before.q31=1" */
  const char* members;    /* of the stage: "lo=-inf kind=0 type=type_b|type_a za=za" */
} qk_fusion;

/* A kernel: one computation with one contract. Lists are separated by commas. */
typedef struct qk_kernel {
  const char* name;
  const char* folder;    /* under kernels */
  const char* selectors; /* names of what says which body computes a call */
  const char* operands;  /* what it reads, "x,bias?": those with a question mark may be absent */
  const char* results;   /* what it writes */
  const char* params;    /* the name of its parameter struct in C */
  const char* fields;    /* its numbers in order: "i n,l bytes,i stride[2],f epilogue.add.ra" */
  const char* groups;    /* its members that are structs: "qk_add_stage epilogue.add" */
  const size_t* offsets; /* of each field, in bytes */
  size_t params_size;
  const char* epilogue;     /* names of the stages it takes, in their order */
  int is_stage;             /* no kernel: a stage of others' epilogues */
  const char* unit;         /* what calls may be split into; empty: nothing */
  const qk_fusion* fusions; /* of a stage */
  int fusion_count;
  const char* means; /* "copy bytes", "test n from=i64 to=bool"; empty: what no pass knows */
} qk_kernel;

/* A C function that computes calls of a kernel with these values of its selectors. Its arguments
 * come in the order (parameters, operands..., results...). */
typedef struct qk_body {
  const char* symbol;
  const char* kernel;
  const char* select;
  const char* file;    /* that has it */
  const char* machine; /* what the target must have; empty: nothing */
  int stack;           /* bytes it takes at most, with all it calls but C's library */
  void (*run)(const void* params, const void* const* in, void* const* out);
  const char* split; /* what the functions that split its calls are named after; empty: none does */
  int32_t (*units)(const void* params);
  int32_t (*subrange)(void* params, const void** in, void** out, int32_t* units);
  int32_t vector_width; /* elements that a thread of a device takes at once; 0: units, one by one */
} qk_body;

/* What runs a body that is built for a machine. */
typedef struct qk_thunk {
  const char* symbol;
  void (*run)(const void* params, const void* const* in, void* const* out);
} qk_thunk;

#endif
