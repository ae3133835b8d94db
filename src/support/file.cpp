#include "support/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace qc {
namespace fs = std::filesystem;
namespace {

Diag system_error(const std::string& path, const char* action) {
  return error(Code::file, Loc{path, {}, {}}, "cannot {}: {}", action, std::strerror(errno));
}

Result<Ok> write_all(int fd, const std::string& path, const void* data, size_t size) {
  const char* p = static_cast<const char*>(data);
  while (size > 0) {
    ssize_t n = ::write(fd, p, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(path, "write");
    p += n;
    size -= static_cast<size_t>(n);
  }
  return Ok{};
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return system_error(path, "open");
  return map(fd, path);
}

Result<std::shared_ptr<const MappedFile>> MappedFile::map(int fd, const std::string& path) {
  struct stat st {};
  if (::fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
    ::close(fd);
    return error(Code::file, Loc{path, {}, {}}, "not a regular file");
  }
  std::shared_ptr<MappedFile> file(new MappedFile);
  file->path_ = path;
  file->size_ = static_cast<size_t>(st.st_size);
  if (file->size_ > 0) {
    void* p = ::mmap(nullptr, file->size_, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED) {
      Diag diag = system_error(path, "map");
      ::close(fd);
      return diag;
    }
    file->data_ = static_cast<const std::byte*>(p);
  }
  ::close(fd);
  return std::shared_ptr<const MappedFile>(file);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::drop(std::span<const std::byte> part) const {
  if (part.empty()) return;
  const uintptr_t page = 4096;
  uintptr_t begin = reinterpret_cast<uintptr_t>(part.data()) & ~(page - 1);
  uintptr_t end = reinterpret_cast<uintptr_t>(part.data() + part.size());
  ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

Result<FileSet> FileSet::create(const std::string& dir) {
  FileSet set;
  set.dir_ = dir;
  std::error_code ec;
  if (!fs::exists(dir, ec)) {
    if (!fs::create_directories(dir, ec) || ec) {
      return error(Code::file, Loc{dir, {}, {}}, "cannot create folder: {}", ec.message());
    }
    set.made_dir_ = true;
  } else if (!fs::is_directory(dir, ec)) {
    return error(Code::file, Loc{dir, {}, {}}, "not a folder");
  }
  return set;
}

FileSet::FileSet(FileSet&& other) noexcept
    : dir_(std::move(other.dir_)),
      made_dir_(std::exchange(other.made_dir_, false)),
      fd_(std::exchange(other.fd_, -1)),
      open_name_(std::move(other.open_name_)),
      pending_(std::exchange(other.pending_, {})) {}

FileSet::~FileSet() {
  if (fd_ >= 0) ::close(fd_);
  for (const auto& [temporary, final] : pending_) ::unlink(temporary.c_str());
  std::error_code ec;
  if (made_dir_) fs::remove(dir_, ec);
}

Result<Ok> FileSet::begin(const std::string& name) {
  QC_CHECK(fd_ < 0, "a file of this set is already open");
  open_name_ = dir_ + "/" + name;
  std::string temporary = open_name_ + ".tmp";
  fd_ = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd_ < 0) return system_error(temporary, "create");
  pending_.emplace_back(std::move(temporary), open_name_);
  return Ok{};
}

Result<Ok> FileSet::append(const void* data, size_t size) {
  return write_all(fd_, open_name_, data, size);
}

Result<Ok> FileSet::end() {
  int rc = ::close(fd_);
  fd_ = -1;
  if (rc != 0) return system_error(open_name_, "write");
  return Ok{};
}

Result<Ok> FileSet::write(const std::string& name, std::string_view text) {
  QC_TRY(begin(name));
  QC_TRY(append(text.data(), text.size()));
  return end();
}

Result<Ok> FileSet::commit() {
  while (!pending_.empty()) {
    const auto& [temporary, final] = pending_.back();
    if (::rename(temporary.c_str(), final.c_str()) != 0) return system_error(final, "rename to");
    pending_.pop_back();
  }
  made_dir_ = false;
  return Ok{};
}

Result<std::string> read_text(const std::string& path) {
  QC_ASSIGN(auto file, MappedFile::open(path));
  auto bytes = file->bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<Ok> write_file(const std::string& path, std::string_view bytes) {
  fs::path p(path);
  QC_ASSIGN(FileSet set, FileSet::create(p.has_parent_path() ? p.parent_path().string() : "."));
  QC_TRY(set.write(p.filename().string(), bytes));
  return set.commit();
}

}  // namespace qc
