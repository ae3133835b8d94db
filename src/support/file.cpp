#include "support/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <mutex>
#include <set>
#include <utility>

#include "support/budget.h"
#include "support/descriptor.h"

namespace qc {
namespace {

Diag system_error(const std::string& path, const char* action) {
  return error(Code::file, Loc{path, {}, {}}, "cannot {}: {}", action, std::strerror(errno));
}

/// Device and number of each file that was read, once they are asked for.
struct Inputs {
  std::mutex mutex;
  bool remembered = false;
  std::set<std::pair<dev_t, ino_t>> files;
};

Inputs& inputs() {
  static Inputs all;
  return all;
}

void remember(const struct stat& st) {
  const std::lock_guard lock(inputs().mutex);
  if (inputs().remembered) inputs().files.emplace(st.st_dev, st.st_ino);
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  // Opening must not wait: what is no regular file (a pipe without a writer) is refused by `map`.
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return system_error(path, "open");
  return map(fd, path);
}

Result<std::shared_ptr<const MappedFile>> MappedFile::map(int fd, const std::string& path) {
  const Descriptor open(fd);
  struct stat st {};
  if (::fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
    return error(Code::file, Loc{path, {}, {}}, "not a regular file");
  }
  remember(st);
  if (Budget* budget = Budget::current()) {
    // Holes of a file cost nobody anything, so they buy nothing.
    budget->read_file(st.st_dev, st.st_ino, std::min<int64_t>(st.st_size, st.st_blocks * 512));
  }
  std::shared_ptr<MappedFile> file(new MappedFile);
  file->path_ = path;
  file->size_ = static_cast<size_t>(st.st_size);
  if (file->size_ > 0) {
    void* p = ::mmap(nullptr, file->size_, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED) return system_error(path, "map");
    file->data_ = static_cast<const std::byte*>(p);
  }
  return std::shared_ptr<const MappedFile>(file);
}

Result<std::shared_ptr<const MappedFile>> MappedFile::of_bytes(std::span<const std::byte> bytes,
                                                               const std::string& name) {
  static std::atomic<uint64_t> number = 0;
  if (Budget* budget = Budget::current()) {
    constexpr uint64_t kNoDevice = std::numeric_limits<uint64_t>::max();
    budget->read_file(kNoDevice, number++, static_cast<int64_t>(bytes.size()));
  }
  std::shared_ptr<MappedFile> file(new MappedFile);
  file->path_ = name;
  file->anonymous_ = true;
  if (!bytes.empty()) {
    void* p =
        ::mmap(nullptr, bytes.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return system_error(name, "hold");
    file->data_ = static_cast<const std::byte*>(p);
    file->size_ = bytes.size();
    std::memcpy(p, bytes.data(), bytes.size());
  }
  return std::shared_ptr<const MappedFile>(file);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::drop(std::span<const std::byte> part) const {
  if (part.empty() || anonymous_) return;
  const uintptr_t page = 4096;
  uintptr_t begin = reinterpret_cast<uintptr_t>(part.data()) & ~(page - 1);
  uintptr_t end = reinterpret_cast<uintptr_t>(part.data() + part.size());
  ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

void remember_inputs() {
  const std::lock_guard lock(inputs().mutex);
  inputs().remembered = true;
}

bool is_input(const struct stat& st) {
  const std::lock_guard lock(inputs().mutex);
  return inputs().files.contains({st.st_dev, st.st_ino});
}

Result<std::string> read_text(const std::string& path) {
  QC_ASSIGN(auto file, MappedFile::open(path));
  auto bytes = file->bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace qc
