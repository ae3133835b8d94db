// Memory of nodes, values and uses: objects of one size lie side by side in the order they were
// made, so that a walk over a large graph reads memory in order.
#pragma once

#include <cstddef>

namespace qc {

void* pool_allocate(size_t bytes);
/// Takes back a block of `bytes` bytes; it is kept for later objects of its size.
void pool_release(void* block, size_t bytes);

}  // namespace qc

/// Members of a class whose objects and arrays, and those of derived classes, come from the pool.
#define QC_POOLED                                                                      \
  static void* operator new(size_t bytes) { return ::qc::pool_allocate(bytes); }       \
  static void* operator new[](size_t bytes) { return ::qc::pool_allocate(bytes); }     \
  static void operator delete(void* p, size_t bytes) { ::qc::pool_release(p, bytes); } \
  static void operator delete[](void* p, size_t bytes) { ::qc::pool_release(p, bytes); }
