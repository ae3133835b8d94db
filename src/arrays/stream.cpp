#include "arrays/stream.h"

#include <algorithm>
#include <cstring>

#include "arrays/inflate.h"
#include "arrays/npy.h"
#include "support/file.h"
#include "support/zip.h"

namespace qc {
namespace {
constexpr uint64_t kWholeLimit = 0x7fffffff;
}  // namespace

/// Bytes from front to back, of a mapped file, a deflated entry of one, or a tensor.
class ArrayStream::Source {
 public:
  Source(std::shared_ptr<const MappedFile> file, std::span<const std::byte> bytes)
      : file_(std::move(file)), bytes_(bytes) {}
  Source(std::shared_ptr<const MappedFile> file, std::span<const std::byte> packed,
         std::unique_ptr<Inflater> inflater)
      : file_(std::move(file)), bytes_(packed), inflater_(std::move(inflater)) {}
  explicit Source(Tensor whole) : whole_(std::move(whole)), bytes_(whole_.bytes()) {}

  Result<Ok> read(std::span<std::byte> out) {
    const size_t buffered = std::min(out.size(), back_.size());
    std::copy_n(back_.begin(), buffered, out.begin());
    back_.erase(back_.begin(), back_.begin() + static_cast<ptrdiff_t>(buffered));
    out = out.subspan(buffered);
    since_drop_ += out.size();
    if (inflater_) {
      if (!out.empty()) QC_TRY(inflater_->read(out));
    } else {
      std::copy_n(bytes_.begin() + static_cast<ptrdiff_t>(at_), out.size(), out.begin());
      at_ += out.size();
    }
    if (file_ && since_drop_ > kDropEvery) {
      file_->drop(bytes_);  // read pages count as this process's memory until dropped
      since_drop_ = 0;
    }
    return Ok{};
  }

  /// Puts bytes back, to be read next.
  void unread(std::vector<std::byte> bytes) { back_ = std::move(bytes); }

 private:
  static constexpr size_t kDropEvery = size_t{16} << 20;

  std::shared_ptr<const MappedFile> file_;
  Tensor whole_;
  std::span<const std::byte> bytes_;
  size_t at_ = 0, since_drop_ = 0;
  std::unique_ptr<Inflater> inflater_;
  std::vector<std::byte> back_;
};

ArrayStream::ArrayStream(std::string name, DType dtype, std::vector<int64_t> shape,
                         std::unique_ptr<Source> source)
    : name_(std::move(name)), dtype_(dtype), shape_(std::move(shape)), source_(std::move(source)) {}
ArrayStream::ArrayStream(NamedArray array)
    : ArrayStream(std::move(array.name), array.tensor.dtype(), array.tensor.shape(),
                  std::make_unique<Source>(array.tensor)) {}
ArrayStream::ArrayStream(ArrayStream&&) noexcept = default;
ArrayStream& ArrayStream::operator=(ArrayStream&&) noexcept = default;
ArrayStream::~ArrayStream() = default;

Result<ArrayStream> ArrayStream::open(std::string name, const std::string& file,
                                      std::unique_ptr<Source> source, uint64_t size) {
  std::vector<std::byte> front(static_cast<size_t>(std::min<uint64_t>(size, kNpyHeaderLimit)));
  QC_TRY(source->read(front));
  QC_ASSIGN(const NpyHeader header, parse_npy_header(front, size, file));
  if (header.swapped || header.fortran) {
    if (size > kWholeLimit) {
      return error(Code::limit, Loc{file, {}, {}},
                   "an array in Fortran or foreign byte order may have {} bytes, this has {}",
                   kWholeLimit, size);
    }
    std::vector<std::byte> all(static_cast<size_t>(size));
    std::copy(front.begin(), front.end(), all.begin());
    QC_TRY(source->read(std::span(all).subspan(front.size())));
    QC_ASSIGN(Tensor tensor, parse_npy(all, file));
    return ArrayStream(NamedArray{std::move(name), std::move(tensor)});
  }
  front.erase(front.begin(), front.begin() + static_cast<ptrdiff_t>(header.size));
  source->unread(std::move(front));
  return ArrayStream(std::move(name), header.dtype, header.shape, std::move(source));
}

Result<std::vector<ArrayStream>> ArrayStream::open_npz(const std::string& path) {
  QC_ASSIGN(auto file, MappedFile::open(path));
  QC_ASSIGN(ZipArchive zip,
            ZipArchive::read(file->bytes(), path, ZipEntries::stored_or_deflated, ZipNames::any));
  std::vector<ArrayStream> out;
  for (const ZipEntry& entry : zip.entries()) {
    const std::string name(npz_name(entry));
    auto source = std::make_unique<Source>(file, entry.data);
    if (entry.deflated) {
      QC_ASSIGN(auto inflater, Inflater::open(entry, Loc{path, {}, {}}));
      source = std::make_unique<Source>(file, entry.data, std::move(inflater));
    }
    const uint64_t size = entry.deflated ? entry.plain_size : entry.data.size();
    QC_ASSIGN(ArrayStream stream,
              open(name, fmt::format("{}[{}]", path, name), std::move(source), size));
    out.push_back(std::move(stream));
  }
  return out;
}

Result<ArrayStream> ArrayStream::open_npy(const std::string& path) {
  QC_ASSIGN(auto file, MappedFile::open(path));
  return open({}, path, std::make_unique<Source>(file, file->bytes()), file->bytes().size());
}

Result<Tensor> ArrayStream::next(const std::vector<int64_t>& shape) {
  Tensor out(dtype_, shape);
  QC_TRY(source_->read(out.mutable_bytes()));
  if (dtype_ == DType::boolean) {
    for (std::byte& b : out.mutable_bytes()) b = static_cast<std::byte>(b != std::byte{0});
  }
  return out;
}

}  // namespace qc
