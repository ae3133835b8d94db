#include "arrays/npz.h"

#include <zlib.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "arrays/inflate.h"
#include "arrays/npy.h"
#include "support/escape.h"
#include "support/file.h"
#include "support/output.h"

namespace qc {
namespace {

constexpr std::string_view kSuffix = ".npy";

Result<std::vector<std::byte>> inflate_entry(const ZipEntry& entry, const Loc& loc) {
  QC_ASSIGN(auto inflater, Inflater::open(entry, loc));
  if (entry.plain_size > 0x7fffffff) {
    return error(Code::limit, loc, "deflated array '{}' claims {} bytes", entry.name,
                 entry.plain_size);
  }
  std::vector<std::byte> plain(entry.plain_size);
  QC_TRY(inflater->read(plain));
  return plain;
}

void put(std::string& out, uint64_t value, int width) {
  for (int i = 0; i < width; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

struct Member {
  std::string name;
  uint32_t crc = 0;
  uint64_t size = 0, offset = 0;
};

uint32_t crc_of(uint32_t crc, const void* data, size_t size) {
  auto next = static_cast<const Bytef*>(data);
  while (size > 0) {
    uInt part = static_cast<uInt>(std::min<size_t>(size, 1u << 30));
    crc = static_cast<uint32_t>(crc32(crc, next, part));
    next += part;
    size -= part;
  }
  return crc;
}

/// The fields that local and central headers share, and the zip64 extra field behind the name.
std::string header_fields(const Member& m, bool central) {
  std::string out;
  put(out, 45, 2);  // version needed: zip64
  put(out, is_utf8(m.name) ? 0x0800 : 0, 2);
  put(out, 0, 2);  // stored
  put(out, 0, 2);
  put(out, 0x21, 2);  // 1980-01-01: the same arrays give the same bytes
  put(out, m.crc, 4);
  put(out, 0xffffffff, 4);
  put(out, 0xffffffff, 4);
  put(out, m.name.size(), 2);
  put(out, central ? 28 : 20, 2);
  if (central) {
    put(out, 0, 6);           // comment, disk, internal attributes
    put(out, 0, 4);           // external attributes
    put(out, 0xffffffff, 4);  // the offset is in the extra field
  }
  out += m.name;
  put(out, 1, 2);
  put(out, central ? 24 : 16, 2);
  put(out, m.size, 8);
  put(out, m.size, 8);
  if (central) put(out, m.offset, 8);
  return out;
}

}  // namespace

std::string_view npz_name(const ZipEntry& entry) {
  std::string_view name = entry.name;
  if (name.ends_with(kSuffix)) name.remove_suffix(kSuffix.size());
  return name;
}

Result<std::vector<NamedArray>> parse_npz(std::span<const std::byte> bytes,
                                          const std::string& file) {
  Loc loc{file, {}, {}};
  QC_ASSIGN(ZipArchive zip,
            ZipArchive::read(bytes, file, ZipEntries::stored_or_deflated, ZipNames::any));
  std::vector<NamedArray> arrays;
  for (const ZipEntry& entry : zip.entries()) {
    const std::string_view name = npz_name(entry);
    std::vector<std::byte> plain;
    std::span<const std::byte> data = entry.data;
    if (entry.deflated) {
      QC_ASSIGN(plain, inflate_entry(entry, loc));
      data = plain;
    }
    QC_ASSIGN(Tensor tensor, parse_npy(data, fmt::format("{}[{}]", file, name)));
    arrays.push_back({std::string(name), std::move(tensor)});
  }
  return arrays;
}

Result<std::vector<NamedArray>> read_npz(const std::string& path) {
  QC_ASSIGN(auto file, MappedFile::open(path));
  return parse_npz(file->bytes(), path);
}

Result<std::string> npz_bytes(std::span<const NamedArray> arrays) {
  constexpr size_t kMaxName = 0xffff;
  std::string out;
  std::vector<Member> members;
  for (const NamedArray& array : arrays) {
    if (array.name.size() + kSuffix.size() > kMaxName ||
        array.name.find('\0') != std::string::npos) {
      return error(
          Code::limit,
          "array '{}' cannot be named so in an .npz file: names have at most {} bytes, none "
          "of them 0; this one has {}",
          clipped(array.name, 64), kMaxName - kSuffix.size(), array.name.size());
    }
    std::string header = npy_header(array.tensor);
    std::span<const std::byte> data = array.tensor.bytes();
    Member m;
    m.name = array.name + std::string(kSuffix);
    m.crc = crc_of(crc_of(0, header.data(), header.size()), data.data(), data.size());
    m.size = header.size() + data.size();
    m.offset = out.size();
    out += "PK\x03\x04" + header_fields(m, false) + header;
    out.append(reinterpret_cast<const char*>(data.data()), data.size());
    members.push_back(std::move(m));
  }
  uint64_t directory = out.size();
  for (const Member& m : members) {
    out += "PK\x01\x02";
    put(out, 45, 2);  // version made by
    out += header_fields(m, true);
  }
  uint64_t end = out.size();
  out += "PK\x06\x06";
  put(out, 44, 8);
  put(out, 45, 2);
  put(out, 45, 2);
  put(out, 0, 8);
  put(out, members.size(), 8);
  put(out, members.size(), 8);
  put(out, end - directory, 8);
  put(out, directory, 8);
  out += "PK\x06\x07";
  put(out, 0, 4);
  put(out, end, 8);
  put(out, 1, 4);
  out += "PK\x05\x06";
  put(out, 0, 4);
  put(out, 0xffff, 2);
  put(out, 0xffff, 2);
  put(out, 0xffffffff, 4);
  put(out, 0xffffffff, 4);
  // The comment at the end says that quantc wrote the file.
  put(out, checksum_mark({}).size(), 2);
  return out + checksum_mark(out);
}

Result<Ok> write_npz(const std::string& path, std::span<const NamedArray> arrays) {
  QC_ASSIGN(const std::string bytes, npz_bytes(arrays));
  return write_file(path, bytes);
}

}  // namespace qc
