// Files: memory-mapped reading, and writing aside then renaming so that nothing half-written stays.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/result.h"

namespace qc {

/// A read-only, memory-mapped regular file. Shared by every constant that points into it.
class MappedFile {
 public:
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);
  /// Maps a file that is already open and closes the descriptor; `path` is for messages.
  static Result<std::shared_ptr<const MappedFile>> map(int fd, const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }
  /// Lets the system drop the pages of `part` from memory; they are read again when touched.
  void drop(std::span<const std::byte> part) const;

 private:
  MappedFile() = default;
  std::string path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

/// A set of files that appear together: each is written beside its final place, and `commit`
/// renames them. What was not committed is removed by the destructor.
class FileSet {
 public:
  /// Files go into `dir`, which is made if missing (and removed again if nothing was committed).
  static Result<FileSet> create(const std::string& dir);
  FileSet(FileSet&&) noexcept;
  FileSet& operator=(FileSet&&) = delete;
  ~FileSet();

  /// Writes the whole file.
  Result<Ok> write(const std::string& name, std::string_view text);
  /// Opens a file for streaming; append to it with `append`. One stream is open at a time.
  Result<Ok> begin(const std::string& name);
  Result<Ok> append(const void* data, size_t size);
  Result<Ok> end();
  /// Renames everything to its final name.
  Result<Ok> commit();

 private:
  FileSet() = default;
  std::string dir_;
  bool made_dir_ = false;
  int fd_ = -1;
  std::string open_name_;
  std::vector<std::pair<std::string, std::string>> pending_;  // temporary path, final path
};

Result<std::string> read_text(const std::string& path);
/// Writes one file through a temporary and a rename.
Result<Ok> write_file(const std::string& path, std::string_view bytes);

}  // namespace qc
