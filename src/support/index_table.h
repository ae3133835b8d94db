// IndexTable: finds things that lie in an array of the caller by hash. It keeps only their indices,
// in one block of memory, so that a table of a hundred thousand names fits a cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace qc {

class IndexTable {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  void reserve(size_t count) {
    if (count * 2 > slots_.size()) rehash(count);
  }

  /// The index that was added with this hash and for which `same` is true; kNone when there is
  /// none.
  template <class Same>
  uint32_t find(size_t hash, Same&& same) const {
    if (slots_.empty()) return kNone;
    const uint32_t tag = tag_of(hash);
    for (size_t i = tag & mask();; i = (i + 1) & mask()) {
      const Slot& slot = slots_[i];
      if (slot.index == kNone || (slot.tag == tag && same(slot.index))) return slot.index;
    }
  }
  /// As `find`; where it finds nothing it adds `index`, and returns it.
  template <class Same>
  uint32_t find_or_add(size_t hash, uint32_t index, Same&& same) {
    const uint32_t found = find(hash, same);
    if (found != kNone) return found;
    reserve(++count_);
    put({tag_of(hash), index});
    return index;
  }

 private:
  struct Slot {
    uint32_t tag = 0;
    uint32_t index = kNone;
  };
  static uint32_t tag_of(size_t hash) {
    return static_cast<uint32_t>((hash * 0x9e3779b97f4a7c15u) >> 32);
  }
  size_t mask() const { return slots_.size() - 1; }
  void put(Slot slot) {
    size_t i = slot.tag & mask();
    while (slots_[i].index != kNone) i = (i + 1) & mask();
    slots_[i] = slot;
  }
  void rehash(size_t count) {
    size_t size = 16;
    while (size < count * 2) size *= 2;
    std::vector<Slot> old(size);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.index != kNone) put(slot);
    }
  }

  std::vector<Slot> slots_;  // a power of two of them, at most half in use
  size_t count_ = 0;
};

}  // namespace qc
