// Deflated entries of archives, unpacked from front to back.
#pragma once

#include <memory>
#include <span>

#include "support/result.h"
#include "support/zip.h"

namespace qc {

class Inflater {
 public:
  /// The entry's bytes must outlive this. Claims that no deflate stream can keep are refused.
  static Result<std::unique_ptr<Inflater>> open(const ZipEntry& entry, Loc loc);
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// Unpacks the next bytes. With the last of them the stream must end, too.
  Result<Ok> read(std::span<std::byte> out);

 private:
  struct Stream;  // zlib's
  Inflater(const ZipEntry& entry, Loc loc);
  bool fill(std::byte* to, size_t size);
  bool ends();

  ZipEntry entry_;
  Loc loc_;
  uint64_t left_;  // plain bytes not read yet
  std::unique_ptr<Stream> stream_;
};

}  // namespace qc
