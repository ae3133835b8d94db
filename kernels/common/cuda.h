/* Bodies for CUDA, written in what C and CUDA C++ share. A body computes one unit of work:
 *
 *   QK_UNIT void SYMBOL(const PARAMS* p, int64_t unit, const void* operand..., void* result...)
 *   QK_UNIT int64_t SYMBOL_units(const PARAMS* p)     how many units there are
 *   QK_UNIT int32_t SYMBOL_shared(const PARAMS* p)    shared memory of a block, where a block
 *                                                     computes a unit
 *
 * A member `resident` of PARAMS says how many blocks are to share a multiprocessor, which bounds
 * the registers of a thread; 0: as many as there is room for.
 *
 * Units write disjoint bytes and read nothing that another one writes, so that they may run in any
 * order or all at once: nvcc makes a thread of each, any other compiler a loop over them. The bits
 * are the same, for all arithmetic is that of kernels/numerics (not with nvcc's -use_fast_math,
 * which no macro tells). Included before everything else. */
#ifndef QK_CUDA_H
#define QK_CUDA_H

#include <stddef.h>
#include <stdint.h>

#if defined(__CUDACC__)
#define QK_INLINE static __host__ __device__ __forceinline__
#define QK_SHARED static __host__ __device__ inline
#define QK_UNIT QK_INLINE
#elif defined(__GNUC__)
#define QK_UNIT static inline __attribute__((always_inline, unused))
#else
#define QK_UNIT static inline
#endif

#endif
