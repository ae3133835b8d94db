#include "arrays/npy.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "support/checked.h"
#include "support/file.h"
#include "support/output.h"

namespace qc {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kAlign = 64;
constexpr size_t kMaxRank = 64;

struct Descr {
  std::string_view code;
  DType dtype;
};
// The void codes are how numpy writes the types it does not know (bf16, fp8): as raw bits.
constexpr Descr kDescrs[] = {
    {"f4", DType::f32},    {"f8", DType::f64}, {"f2", DType::f16}, {"i1", DType::i8},
    {"i2", DType::i16},    {"i4", DType::i32}, {"i8", DType::i64}, {"u1", DType::u8},
    {"u2", DType::u16},    {"u4", DType::u32}, {"u8", DType::u64}, {"b1", DType::boolean},
    {"?", DType::boolean}, {"V1", DType::u8},  {"V2", DType::u16},
};

/// Reads the header: a Python dict literal with the keys descr, fortran_order and shape.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& file) : text_(text), loc_{file, {}, {}} {}

  Result<NpyHeader> parse() {
    bool descr = false, order = false, shape = false;
    if (!eat('{')) return broken("it is not a dict");
    while (!eat('}')) {
      auto key = quoted();
      if (!key || !eat(':')) return broken("a key is malformed");
      if (*key == "descr" && !descr) {
        QC_TRY(read_descr());
        descr = true;
      } else if (*key == "fortran_order" && !order) {
        if (!read_order()) return broken("fortran_order is neither True nor False");
        order = true;
      } else if (*key == "shape" && !shape) {
        QC_TRY(read_shape());
        shape = true;
      } else {
        return broken(fmt::format("key '{}' is unknown or repeated", *key));
      }
      if (!eat(',') && !at('}')) return broken("a comma is missing");
    }
    if (!descr || !order || !shape) return broken("descr, fortran_order or shape is missing");
    return std::move(header_);
  }

 private:
  Diag broken(std::string_view why) const {
    return error(Code::format, loc_, "not a valid npy header: {}", why);
  }

  void skip_space() {
    while (pos_ < text_.size() && (text_[pos_] == ' ' || text_[pos_] == '\n')) ++pos_;
  }
  bool at(char c) {
    skip_space();
    return pos_ < text_.size() && text_[pos_] == c;
  }
  bool eat(char c) {
    if (!at(c)) return false;
    ++pos_;
    return true;
  }
  bool eat_word(std::string_view word) {
    skip_space();
    if (!text_.substr(pos_).starts_with(word)) return false;
    pos_ += word.size();
    return true;
  }

  std::optional<std::string_view> quoted() {
    skip_space();
    char mark = at('"') ? '"' : '\'';
    if (!eat(mark)) return std::nullopt;
    size_t end = text_.find(mark, pos_);
    if (end == text_.npos) return std::nullopt;
    std::string_view word = text_.substr(pos_, end - pos_);
    pos_ = end + 1;
    return word;
  }

  Result<Ok> read_descr() {
    auto word = quoted();
    if (!word) return error(Code::unsupported, loc_, "arrays of records are not supported");
    std::string_view code = *word;
    char order = '|';
    if (!code.empty() && std::string_view("<>|=").find(code[0]) != std::string_view::npos) {
      order = code[0];
      code.remove_prefix(1);
    }
    for (const Descr& row : kDescrs) {
      if (row.code != code) continue;
      header_.dtype = row.dtype;
      header_.swapped = order == '>' && bytes(row.dtype) > 1;
      return Ok{};
    }
    return error(Code::unsupported, loc_,
                 "arrays of numpy type '{}' are not supported, expected floats, integers or bool",
                 *word);
  }

  bool read_order() {
    header_.fortran = eat_word("True");
    return header_.fortran || eat_word("False");
  }

  Result<Ok> read_shape() {
    if (!eat('(')) return broken("shape is not a tuple");
    while (!eat(')')) {
      if (header_.shape.size() == kMaxRank) return broken("more than 64 dimensions");
      skip_space();
      std::optional<int64_t> dim;
      for (; pos_ < text_.size() && text_[pos_] >= '0' && text_[pos_] <= '9'; ++pos_) {
        auto shifted = checked_mul(dim.value_or(0), 10);
        dim = shifted ? checked_add(*shifted, text_[pos_] - '0') : std::nullopt;
        if (!dim) return broken("a dimension is too large");
      }
      if (!dim) return broken("a dimension is not a non-negative integer");
      header_.shape.push_back(*dim);
      if (!eat(',') && !at(')')) return broken("shape is malformed");
    }
    return Ok{};
  }

  std::string_view text_;
  Loc loc_;
  size_t pos_ = 0;
  NpyHeader header_;
};

void swap_bytes(std::span<std::byte> data, size_t width) {
  for (size_t i = 0; i + width <= data.size(); i += width) {
    std::reverse(data.begin() + static_cast<ptrdiff_t>(i),
                 data.begin() + static_cast<ptrdiff_t>(i + width));
  }
}

/// Copies column-major elements to row-major ones.
void from_fortran(const std::byte* source, std::byte* target, const std::vector<int64_t>& shape,
                  int64_t size, size_t width) {
  std::vector<int64_t> index(shape.size(), 0), stride(shape.size(), 1);
  for (size_t d = 1; d < shape.size(); ++d) stride[d] = stride[d - 1] * shape[d - 1];
  int64_t from = 0;
  for (int64_t i = 0; i < size; ++i) {
    std::memcpy(target + static_cast<size_t>(i) * width, source + static_cast<size_t>(from) * width,
                width);
    for (size_t d = shape.size(); d-- > 0;) {
      from += stride[d];
      if (++index[d] < shape[d]) break;
      from -= stride[d] * shape[d];
      index[d] = 0;
    }
  }
}

std::string_view descr(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "<f4";
    case DType::f64:
      return "<f8";
    case DType::f16:
      return "<f2";
    case DType::i16:
      return "<i2";
    case DType::i32:
      return "<i4";
    case DType::i64:
      return "<i8";
    case DType::bf16:
    case DType::u16:
      return "<u2";
    case DType::u32:
      return "<u4";
    case DType::u64:
      return "<u8";
    case DType::boolean:
      return "|b1";
    case DType::i8:
    case DType::i4:
    case DType::i2:
      return "|i1";
    case DType::u8:
    case DType::f8e4m3:
    case DType::f8e5m2:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2fnuz:
    case DType::f8e8m0:
    case DType::f4e2m1:
    case DType::u4:
    case DType::u2:
      return "|u1";
  }
  return "|u1";
}

}  // namespace

Result<NpyHeader> parse_npy_header(std::span<const std::byte> front, uint64_t file_size,
                                   const std::string& file) {
  Loc loc{file, {}, {}};
  std::string_view text(reinterpret_cast<const char*>(front.data()), front.size());
  if (!text.starts_with(kMagic) || text.size() < 10) {
    return error(Code::format, loc, "not an npy file: the magic bytes are missing");
  }
  auto byte_at = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(text[i])); };
  size_t version = byte_at(6);
  if (version < 1 || version > 3) {
    return error(Code::unsupported, loc, "npy version {} is not supported, expected 1 to 3",
                 version);
  }
  size_t start = version == 1 ? 10 : 12;
  size_t length = byte_at(8) | byte_at(9) << 8;
  if (version > 1 && text.size() >= start) length |= byte_at(10) << 16 | byte_at(11) << 24;
  if (text.size() < start || length > text.size() - start) {
    return error(Code::format, loc, "npy header of {} bytes does not fit the file", length);
  }
  QC_ASSIGN(NpyHeader header, HeaderParser(text.substr(start, length), file).parse());
  header.size = start + length;
  header.fortran = header.fortran && header.shape.size() > 1;
  auto total = checked_bytes(header.dtype, header.shape);
  if (!total.ok()) return error(Code::limit, loc, "{}", total.diag().text);
  if (static_cast<uint64_t>(*total) != file_size - header.size) {
    return error(Code::format, loc, "npy file holds {} bytes of elements, its shape needs {}",
                 file_size - header.size, *total);
  }
  return header;
}

Result<Tensor> parse_npy(std::span<const std::byte> bytes, const std::string& file) {
  QC_ASSIGN(
      const NpyHeader header,
      parse_npy_header(bytes.first(std::min(bytes.size(), kNpyHeaderLimit)), bytes.size(), file));
  std::span<const std::byte> data = bytes.subspan(header.size);

  Tensor tensor(header.dtype, header.shape);
  std::span<std::byte> out = tensor.mutable_bytes();
  size_t width = qc::bytes(header.dtype);
  if (header.fortran) {
    from_fortran(data.data(), out.data(), header.shape, tensor.size(), width);
  } else {
    std::copy(data.begin(), data.end(), out.begin());
  }
  if (header.swapped) swap_bytes(out, width);
  if (header.dtype == DType::boolean) {
    for (std::byte& b : out) b = static_cast<std::byte>(b != std::byte{0});
  }
  return tensor;
}

Result<Tensor> read_npy(const std::string& path) {
  QC_ASSIGN(auto file, MappedFile::open(path));
  return parse_npy(file->bytes(), path);
}

std::string npy_header(const Tensor& tensor) {
  std::string dict =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': (", descr(tensor.dtype()));
  for (size_t i = 0; i < tensor.shape().size(); ++i) {
    dict += fmt::format("{}{}", i == 0 ? "" : " ", tensor.shape()[i]);
    if (i + 1 < tensor.shape().size() || i == 0) dict += ',';
  }
  dict += "), }";
  size_t used = 10 + dict.size() + 1;
  dict.append((kAlign - used % kAlign) % kAlign, ' ');
  dict += '\n';
  std::string header(kMagic);
  header +=
      {'\x01', '\x00', static_cast<char>(dict.size() & 0xff), static_cast<char>(dict.size() >> 8)};
  return header + dict;
}

Result<Ok> write_npy(const std::string& path, const Tensor& tensor) {
  std::string all = npy_header(tensor);
  all.append(reinterpret_cast<const char*>(tensor.bytes().data()), tensor.bytes().size());
  return write_file(path, all);
}

}  // namespace qc
