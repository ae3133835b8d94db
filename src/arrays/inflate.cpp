#include "arrays/inflate.h"

#include <zlib.h>

#include <algorithm>
#include <new>

namespace qc {
namespace {
/// Deflate cannot pack tighter than about 1032:1, so a larger claim is a lie.
constexpr uint64_t kMaxRatio = 1040;
constexpr size_t kPart = size_t{1} << 30;  // zlib counts in 32 bits

/// A status of zlib; that there is no memory is thrown like everywhere else.
int checked(int status) {
  if (status == Z_MEM_ERROR) throw std::bad_alloc();
  return status;
}
}  // namespace

struct Inflater::Stream {
  z_stream z{};
  std::span<const std::byte> input;  // not handed to zlib yet
};

Inflater::Inflater(const ZipEntry& entry, Loc loc)
    : entry_(entry),
      loc_(std::move(loc)),
      left_(entry.plain_size),
      stream_(std::make_unique<Stream>()) {
  stream_->input = entry.data;
}

Inflater::~Inflater() { inflateEnd(&stream_->z); }

Result<std::unique_ptr<Inflater>> Inflater::open(const ZipEntry& entry, Loc loc) {
  if (entry.plain_size / kMaxRatio > entry.data.size() + 16) {
    return error(Code::limit, loc, "deflated array '{}' claims {} bytes", entry.name,
                 entry.plain_size);
  }
  std::unique_ptr<Inflater> out(new Inflater(entry, std::move(loc)));
  if (checked(inflateInit2(&out->stream_->z, -MAX_WBITS)) != Z_OK) {
    return error(Code::bug, out->loc_, "zlib cannot be initialised");
  }
  return out;
}

bool Inflater::fill(std::byte* to, size_t size) {
  z_stream& z = stream_->z;
  while (size > 0) {
    const size_t want = std::min(size, kPart);
    z.next_out = reinterpret_cast<Bytef*>(to);
    z.avail_out = static_cast<uInt>(want);
    while (z.avail_out > 0) {
      if (z.avail_in == 0) {
        std::span<const std::byte>& input = stream_->input;
        const size_t part = std::min(input.size(), kPart);
        z.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(input.data()));
        z.avail_in = static_cast<uInt>(part);
        input = input.subspan(part);
      }
      const int status = checked(inflate(&z, Z_NO_FLUSH));
      if (status != Z_OK && !(status == Z_STREAM_END && z.avail_out == 0)) return false;
    }
    to += want;
    size -= want;
  }
  return true;
}

bool Inflater::ends() {
  // One byte more must not come; an end that was seen already stays an end.
  z_stream& z = stream_->z;
  std::byte more;
  z.next_out = reinterpret_cast<Bytef*>(&more);
  z.avail_out = 1;
  if (z.avail_in == 0) {
    z.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(stream_->input.data()));
    z.avail_in = static_cast<uInt>(std::min(stream_->input.size(), kPart));
  }
  return checked(inflate(&z, Z_FINISH)) == Z_STREAM_END && z.avail_out == 1;
}

Result<Ok> Inflater::read(std::span<std::byte> out) {
  if (out.size() > left_ || !fill(out.data(), out.size())) {
    return error(Code::format, loc_, "deflated array '{}' is damaged", entry_.name);
  }
  left_ -= out.size();
  if (left_ == 0 && !ends()) {
    return error(Code::format, loc_, "deflated array '{}' is damaged", entry_.name);
  }
  return Ok{};
}

}  // namespace qc
