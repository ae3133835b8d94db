// Kernels for CUDA that a table of launches names, for replay.cu; built with nvcc, or with
// -DQK_CUDA_ON_HOST by any C++ compiler.
#pragma once

#define QK_ANY_SHAPE /* kernels take calls with any parameters */

#include "runtime/cuda/launch.h"
// Headers of kernels stand after launch.h, as in generated code.
#include "kernels/common/vectors.h"
// cuda.h says how bodies are inlined, so it comes before them.
#include "kernels/common/cuda.h"

struct replay_arguments {
  const void* in[16];
  void* out[16];
};

struct replay_entry {
  const char* symbol;
  bool anywhere;  // whether operands and results may lie at any multiple of 8
  // Starts the kernel; `units` are those of bodies that are computed in parts.
  cudaError_t (*launch)(const qk_queue* queue, const void* params, int64_t units,
                        const replay_arguments* arguments);
};

// Ends with one that has no symbol.
extern const replay_entry* const replay_tables[];
