#include "support/zip.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace qc {
namespace {

using Bytes = std::span<const std::byte>;

constexpr uint32_t kEndMark = 0x06054b50;
constexpr uint32_t kEnd64Mark = 0x06064b50;
constexpr uint32_t kLocator64Mark = 0x07064b50;
constexpr uint32_t kCentralMark = 0x02014b50;
constexpr uint32_t kLocalMark = 0x04034b50;
constexpr size_t kEndSize = 22;
constexpr size_t kEnd64Size = 56;
constexpr size_t kLocatorSize = 20;
constexpr size_t kCentralSize = 46;
constexpr size_t kLocalSize = 30;
constexpr uint64_t kMaxEntries = uint64_t{1} << 20;
constexpr uint16_t kEncrypted = 1;
constexpr uint16_t kStored = 0, kDeflated = 8;
constexpr uint16_t kZip64Extra = 1;

/// Little-endian unsigned of N bytes; the caller has checked the bounds.
template <int N>
uint64_t load(Bytes bytes, size_t at) {
  uint64_t v = 0;
  for (int i = N - 1; i >= 0; --i) v = v << 8 | std::to_integer<uint64_t>(bytes[at + i]);
  return v;
}

/// Whether [at, at+size) lies within `bytes`.
bool inside(Bytes bytes, uint64_t at, uint64_t size) {
  return at <= bytes.size() && size <= bytes.size() - at;
}

struct Directory {
  uint64_t offset = 0, size = 0, count = 0;
};

struct Central {
  uint16_t flags = 0, method = 0;
  uint64_t stored = 0, plain = 0, header = 0;
  std::string_view name;
};

class Reader {
 public:
  Reader(Bytes bytes, const std::string& file) : bytes_(bytes), loc_{file, {}, {}} {}

  Result<Directory> directory() const {
    QC_ASSIGN(size_t end, find_end());
    Directory dir{load<4>(bytes_, end + 16), load<4>(bytes_, end + 12), load<2>(bytes_, end + 10)};
    if (end >= kLocatorSize && load<4>(bytes_, end - kLocatorSize) == kLocator64Mark) {
      uint64_t at = load<8>(bytes_, end - kLocatorSize + 8);
      if (!inside(bytes_, at, kEnd64Size) || load<4>(bytes_, at) != kEnd64Mark) {
        return broken("its zip64 end record is missing");
      }
      dir = {load<8>(bytes_, at + 48), load<8>(bytes_, at + 40), load<8>(bytes_, at + 32)};
    }
    if (!inside(bytes_, dir.offset, dir.size)) {
      return broken("its directory lies outside the file");
    }
    if (dir.count > kMaxEntries) {
      return error(Code::limit, loc_, "zip archive has {} entries, at most {} are accepted",
                   dir.count, kMaxEntries);
    }
    if (dir.count > dir.size / kCentralSize) return broken("its directory is too short");
    return dir;
  }

  /// Reads the directory entry at `at` and moves `at` behind it.
  Result<Central> central(size_t& at, size_t end) const {
    if (end - at < kCentralSize || load<4>(bytes_, at) != kCentralMark) {
      return broken("a directory entry is malformed");
    }
    size_t name = load<2>(bytes_, at + 28), extra = load<2>(bytes_, at + 30);
    size_t comment = load<2>(bytes_, at + 32);
    if (end - at - kCentralSize < name + extra + comment) {
      return broken("a directory entry is cut off");
    }
    Central c;
    c.flags = static_cast<uint16_t>(load<2>(bytes_, at + 8));
    c.method = static_cast<uint16_t>(load<2>(bytes_, at + 10));
    c.stored = load<4>(bytes_, at + 20);
    c.plain = load<4>(bytes_, at + 24);
    c.header = load<4>(bytes_, at + 42);
    c.name = {reinterpret_cast<const char*>(bytes_.data()) + at + kCentralSize, name};
    QC_TRY(zip64(c, bytes_.subspan(at + kCentralSize + name, extra)));
    at += kCentralSize + name + extra + comment;
    return c;
  }

  /// The payload, found behind the local header's own name and extra field.
  Result<Bytes> payload(const Central& c) const {
    if (!inside(bytes_, c.header, kLocalSize) || load<4>(bytes_, c.header) != kLocalMark) {
      return broken(fmt::format("entry '{}' has no local header", c.name));
    }
    uint64_t skip = kLocalSize + load<2>(bytes_, c.header + 26) + load<2>(bytes_, c.header + 28);
    if (!inside(bytes_, c.header, skip) || !inside(bytes_, c.header + skip, c.stored)) {
      return broken(fmt::format("entry '{}' reaches beyond the end of the file", c.name));
    }
    return bytes_.subspan(c.header + skip, c.stored);
  }

  Result<Ok> acceptable(const Central& c, ZipEntries accept, ZipNames names) const {
    if (c.flags & kEncrypted) {
      return error(Code::unsupported, loc_, "zip entry '{}' is encrypted", c.name);
    }
    if (c.method != kStored &&
        (c.method != kDeflated || accept != ZipEntries::stored_or_deflated)) {
      return error(Code::unsupported, loc_, "zip entry '{}' is compressed (method {})", c.name,
                   c.method);
    }
    if (c.method == kStored && c.stored != c.plain) {
      return broken(fmt::format("stored entry '{}' has two different sizes", c.name));
    }
    if (c.name.empty() || c.name.find('\0') != c.name.npos) {
      return broken("an entry has no valid name");
    }
    if (names == ZipNames::any) return Ok{};
    bool leaves = c.name.front() == '/' || c.name.find('\\') != c.name.npos ||
                  (c.name.size() > 1 && c.name[1] == ':');
    for (size_t from = 0; from <= c.name.size();) {
      size_t to = std::min(c.name.find('/', from), c.name.size());
      leaves |= c.name.substr(from, to - from) == "..";
      from = to + 1;
    }
    if (leaves) {
      return error(Code::path, loc_, "zip entry '{}' is not a plain relative path", c.name);
    }
    return Ok{};
  }

  Diag broken(std::string_view why) const {
    return error(Code::format, loc_, "not a valid zip archive: {}", why);
  }

 private:
  Result<size_t> find_end() const {
    if (bytes_.size() < kEndSize) return broken("it is too short");
    size_t lowest = bytes_.size() > kEndSize + 0xffff ? bytes_.size() - kEndSize - 0xffff : 0;
    for (size_t at = bytes_.size() - kEndSize + 1; at-- > lowest;) {
      if (load<4>(bytes_, at) == kEndMark &&
          load<2>(bytes_, at + 20) <= bytes_.size() - at - kEndSize) {
        return at;
      }
    }
    return broken("it has no end record (is the file cut off?)");
  }

  /// Replaces the fields that hold the 32-bit mark by those of the zip64 extra field.
  Result<Ok> zip64(Central& c, Bytes extra) const {
    uint64_t* wide[3] = {&c.plain, &c.stored, &c.header};
    if (std::none_of(wide, wide + 3, [](auto* f) { return *f == 0xffffffff; })) return Ok{};
    for (size_t at = 0; extra.size() - at >= 4;) {
      size_t id = load<2>(extra, at), size = load<2>(extra, at + 2);
      if (extra.size() - at - 4 < size) break;
      if (id == kZip64Extra) {
        Bytes body = extra.subspan(at + 4, size);
        size_t used = 0;
        for (uint64_t* field : wide) {
          if (*field != 0xffffffff) continue;
          if (body.size() - used < 8) return broken("a zip64 field is cut off");
          *field = load<8>(body, used);
          used += 8;
        }
        return Ok{};
      }
      at += 4 + size;
    }
    return broken("a zip64 field is missing");
  }

  Bytes bytes_;
  Loc loc_;
};

struct Range {
  uint64_t begin, end;
};

}  // namespace

Result<ZipArchive> ZipArchive::read(Bytes bytes, const std::string& file, ZipEntries accept,
                                    ZipNames names) {
  Reader reader(bytes, file);
  QC_ASSIGN(Directory dir, reader.directory());
  ZipArchive zip;
  zip.file_ = file;
  std::vector<Range> ranges;
  size_t at = dir.offset, end = dir.offset + dir.size;
  for (uint64_t i = 0; i < dir.count; ++i) {
    QC_ASSIGN(Central c, reader.central(at, end));
    QC_TRY(reader.acceptable(c, accept, names));
    QC_ASSIGN(Bytes data, reader.payload(c));
    if (c.name.ends_with('/') && data.empty()) continue;
    if (!zip.index_.emplace(c.name, zip.entries_.size()).second) {
      return reader.broken(fmt::format("entry '{}' appears twice", c.name));
    }
    ranges.push_back({c.header, static_cast<uint64_t>(data.data() - bytes.data()) + data.size()});
    zip.entries_.push_back({c.name, data, c.method == kDeflated, c.plain});
  }
  ranges.push_back({dir.offset, end});
  std::sort(ranges.begin(), ranges.end(), [](auto& a, auto& b) { return a.begin < b.begin; });
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].begin < ranges[i - 1].end) return reader.broken("its entries overlap");
  }
  return zip;
}

const ZipEntry* ZipArchive::find(std::string_view name) const {
  auto it = index_.find(name);
  return it == index_.end() ? nullptr : &entries_[it->second];
}

std::string_view ZipArchive::root() const {
  if (entries_.empty()) return {};
  std::string_view first = entries_[0].name;
  size_t slash = first.find('/');
  return slash == first.npos ? std::string_view() : first.substr(0, slash + 1);
}

std::string_view text(const ZipEntry& entry) {
  return {reinterpret_cast<const char*>(entry.data.data()), entry.data.size()};
}

}  // namespace qc
