// Checksums of files: they find changes, they do not resist forgery.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace qc {

/// FNV-1a over little-endian words of 8 bytes, so that gigabytes hash at memory speed. Chunks may
/// be split anywhere; a last word that is not full counts with its length.
class Checksum {
 public:
  void add(const void* data, size_t size) {
    const auto* bytes = static_cast<const unsigned char*>(data);
    const auto* const end = bytes + size;
    while (bytes != end && filled_ != 0) add(*bytes++);
    if constexpr (std::endian::native == std::endian::little) {
      for (; end - bytes >= 8; bytes += 8) {
        uint64_t word;
        std::memcpy(&word, bytes, sizeof word);
        hash_ = (hash_ ^ word) * kPrime;
      }
    }
    while (bytes != end) add(*bytes++);
  }
  uint64_t value() const {
    if (filled_ == 0) return hash_;
    return (hash_ ^ (word_ | static_cast<uint64_t>(filled_) << 56)) * kPrime;
  }

 private:
  void add(unsigned char byte) {
    word_ |= static_cast<uint64_t>(byte) << (8 * filled_);
    if (++filled_ < 8) return;
    hash_ = (hash_ ^ word_) * kPrime;
    word_ = 0;
    filled_ = 0;
  }

  static constexpr uint64_t kPrime = 0x100000001b3u;
  uint64_t hash_ = 0xcbf29ce484222325u;
  uint64_t word_ = 0;
  int filled_ = 0;
};

}  // namespace qc
