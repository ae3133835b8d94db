// Reading files, memory-mapped.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "support/result.h"

struct stat;

namespace qc {

/// A read-only, memory-mapped regular file. Shared by every constant that points into it.
class MappedFile {
 public:
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);
  /// Maps a file that is already open and closes the descriptor; `path` is for messages.
  static Result<std::shared_ptr<const MappedFile>> map(int fd, const std::string& path);
  /// Bytes that are in memory already, copied; `name` is for messages. They count as a file of
  /// their size.
  static Result<std::shared_ptr<const MappedFile>> of_bytes(std::span<const std::byte> bytes,
                                                            const std::string& name);
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
  bool anonymous_ = false;  // no file could give dropped pages back
};

Result<std::string> read_text(const std::string& path);

/// From now on files that are read are remembered as inputs, which no output replaces: for a
/// process that runs one command.
void remember_inputs();
/// Whether the file is one that was read.
bool is_input(const struct stat& st);

}  // namespace qc
