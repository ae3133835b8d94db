// Reader of zip archives: finds the entries, unpacks nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace qc {

/// One entry; name and payload point into the archive's bytes.
struct ZipEntry {
  std::string_view name;
  std::span<const std::byte> data;
  /// The payload is a raw deflate stream of `plain_size` bytes; else it is the bytes themselves.
  bool deflated = false;
  uint64_t plain_size = 0;
};

enum class ZipEntries { stored, stored_or_deflated };
/// What the names of entries stand for: files below a folder, or nothing but names.
enum class ZipNames { paths, any };

/// The entries of an archive, found through its central directory. Nothing is copied: the bytes
/// given to `read` must outlive the archive.
class ZipArchive {
 public:
  /// Refuses encrypted entries, compression that `accept` does not name, duplicate names, names of
  /// paths that are absolute or have `..`, and entries that overlap. `file` is the name shown in
  /// messages.
  static Result<ZipArchive> read(std::span<const std::byte> bytes, const std::string& file,
                                 ZipEntries accept = ZipEntries::stored,
                                 ZipNames names = ZipNames::paths);

  /// In the order of the central directory.
  const std::vector<ZipEntry>& entries() const { return entries_; }
  const ZipEntry* find(std::string_view name) const;
  /// The folder all entries live under, with its slash. Empty when the first entry is not in a
  /// folder.
  std::string_view root() const;
  const std::string& file() const { return file_; }

 private:
  std::string file_;
  std::vector<ZipEntry> entries_;
  std::map<std::string_view, size_t> index_;
};

/// The payload as text.
std::string_view text(const ZipEntry& entry);

}  // namespace qc
