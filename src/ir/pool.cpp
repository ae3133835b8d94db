#include "ir/pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <mutex>
#include <new>

namespace qc {

#if defined(__SANITIZE_ADDRESS__)
#define QC_NO_POOL
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define QC_NO_POOL
#endif
#endif

#ifdef QC_NO_POOL
// Every object on its own, so that a use after its end is found.
void* pool_allocate(size_t bytes) { return ::operator new(bytes); }
void pool_release(void* block, size_t) { ::operator delete(block); }
#else
namespace {

constexpr size_t kGrain = 16;              // sizes are multiples of it
constexpr size_t kLargest = 1024;          // larger objects are on their own
constexpr size_t kSlab = size_t{1} << 16;  // what blocks of one size ask for at once
constexpr size_t kPage = size_t{1} << 21;  // what slabs come from: one large page
constexpr size_t kMostPages = 8 * kPage;   // what is asked for at once

/// Slabs side by side in large pages, so that walking a large graph misses few translations.
struct Pages {
  char* fresh = nullptr;
  size_t left = 0;
  size_t next = kPage;  // each time twice as much: aligning wastes addresses, up to a page

  char* slab() {
    if (left == 0) {
      fresh = static_cast<char*>(::operator new(next, std::align_val_t(kPage)));
      left = next;
      next = std::min(2 * next, kMostPages);
#ifdef MADV_HUGEPAGE
      madvise(fresh, left, MADV_HUGEPAGE);  // a wish; without it pages are small
#endif
    }
    char* out = fresh;
    fresh += kSlab;
    left -= kSlab;
    return out;
  }
};

/// Blocks of one size: those given back, then the rest of the newest slab.
struct Blocks {
  struct Free {
    Free* next;
  };
  Free* free = nullptr;
  char* fresh = nullptr;
  size_t left = 0;

  void* take(size_t size, Pages& pages) {
    if (free) {
      Free* block = free;
      free = block->next;
      return block;
    }
    if (left < size) {
      fresh = pages.slab();
      left = kSlab;
    }
    char* block = fresh;
    fresh += size;
    left -= size;
    return block;
  }
};

struct Pool {
  std::mutex mutex;
  Pages pages;
  Blocks blocks[kLargest / kGrain + 1];
};

Pool& pool() {
  static Pool& pool = *new Pool;  // never destroyed: it outlives every static graph
  return pool;
}

}  // namespace

void* pool_allocate(size_t bytes) {
  if (bytes > kLargest) return ::operator new(bytes);
  const size_t grains = (bytes + kGrain - 1) / kGrain;
  Pool& p = pool();
  const std::lock_guard lock(p.mutex);
  return p.blocks[grains].take(grains * kGrain, p.pages);
}

void pool_release(void* block, size_t bytes) {
  if (!block) return;
  if (bytes > kLargest) return ::operator delete(block);
  const size_t grains = (bytes + kGrain - 1) / kGrain;
  Pool& p = pool();
  const std::lock_guard lock(p.mutex);
  Blocks& blocks = p.blocks[grains];
  blocks.free = new (block) Blocks::Free{blocks.free};
}
#endif

}  // namespace qc
