#include "program/memory.h"

#include <cstdint>

namespace qc {
namespace {

bool is_planned(const Program& program) {
  for (const Buffer& b : program.buffers) {
    if (b.kind == BufferKind::arena && b.alias_of < 0 && !b.has_offset() && b.size() > 0)
      return false;
  }
  return true;
}

bool is_callers(const Buffer& b) {
  return b.kind == BufferKind::input || b.kind == BufferKind::output;
}

}  // namespace

RunMemory::RunMemory(const Program& program)
    : program_(program), base_(program.buffers.size()), spares_(program.buffers.size()) {
  const bool planned = is_planned(program);
  std::byte* const arena = planned ? allocate(program.arena_bytes) : nullptr;
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& b = program.buffers[i];
    if (b.alias_of >= 0 || is_callers(b) || b.kind == BufferKind::constant) continue;
    if (b.kind == BufferKind::arena && planned) {
      base_[i] = b.has_offset() ? arena + b.offset.value() : nullptr;
    } else {
      base_[i] = allocate(b.size());
    }
  }
}

std::byte* RunMemory::spare(int buffer) {
  std::byte*& out = spares_[static_cast<size_t>(buffer)];
  if (!out) out = allocate(program_.buffers[static_cast<size_t>(buffer)].size());
  return out;
}

std::byte* RunMemory::allocate(int64_t bytes) {
  constexpr uintptr_t kAlign = 64;
  std::unique_ptr<std::byte[]> block(new std::byte[static_cast<size_t>(bytes) + kAlign]);
  blocks_.push_back(std::move(block));
  const auto address = reinterpret_cast<uintptr_t>(blocks_.back().get());
  return reinterpret_cast<std::byte*>((address + kAlign - 1) & ~(kAlign - 1));
}

MemoryPool::Lease MemoryPool::take(const Program& program) {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<RunMemory> out = std::move(idle_.back());
      idle_.pop_back();
      return Lease(*this, std::move(out));
    }
  }
  auto fresh = std::make_unique<RunMemory>(program);
  const std::lock_guard lock(mutex_);
  idle_.reserve(made_ + 1);
  ++made_;
  return Lease(*this, std::move(fresh));
}

void MemoryPool::give_back(std::unique_ptr<RunMemory> memory) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(memory));  // there is room: a destructor asks for it
}

}  // namespace qc
