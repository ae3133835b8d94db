// Memory for the runs of a Program in this process.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "program/program.h"

namespace qc {

/// Where every buffer of one run lies. What belongs to the caller and what is constant is set from
/// outside; for the rest there is memory aligned to 64 bytes, as it was left by the last run.
class RunMemory {
 public:
  /// Uses the arena plan where the program has one, separate buffers otherwise.
  explicit RunMemory(const Program& program);

  std::byte* at(const View& view) { return at(program_.resolve(view)); }
  std::byte* at(int buffer) { return at(program_.resolve(BufferOffset{buffer, 0})); }
  std::byte* at(BufferOffset position) {
    std::byte* base = base_[static_cast<size_t>(position.buffer)];
    return base ? base + position.offset.value() : nullptr;
  }
  void set(int buffer, std::byte* base) { base_[static_cast<size_t>(buffer)] = base; }
  /// Memory for a buffer of the caller's whose own does not serve.
  std::byte* spare(int buffer);

 private:
  std::byte* allocate(int64_t bytes);

  const Program& program_;
  std::vector<std::byte*> base_;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::vector<std::byte*> spares_;  // by buffer; null where none was needed
};

/// Memory of runs that are over, for the next ones: as much as ran at once. Threads may share it.
class MemoryPool {
 public:
  class Lease {
   public:
    Lease(MemoryPool& pool, std::unique_ptr<RunMemory> memory)
        : pool_(pool), memory_(std::move(memory)) {}
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() { pool_.give_back(std::move(memory_)); }
    RunMemory& operator*() { return *memory_; }

   private:
    MemoryPool& pool_;
    std::unique_ptr<RunMemory> memory_;
  };

  Lease take(const Program& program);

 private:
  void give_back(std::unique_ptr<RunMemory> memory);

  std::mutex mutex_;
  size_t made_ = 0;
  std::vector<std::unique_ptr<RunMemory>> idle_;  // with room for all that were made
};

}  // namespace qc
