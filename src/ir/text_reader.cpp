#include "ir/text_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

namespace qc {
namespace {

constexpr size_t kMaxRank = 32;

bool word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}
bool number_char(char c) { return word_char(c) || c == '-' || c == '+'; }

template <class T>
bool parse_all(std::string_view text, T& out) {
  auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), out);
  return status == std::errc() && end == text.data() + text.size();
}

}  // namespace

void TextReader::skip() {
  while (pos_ < text_.size()) {
    const char c = text_[pos_];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++pos_;
    } else if (text_.substr(pos_, 2) == "//") {
      pos_ = std::min(text_.find('\n', pos_), text_.size());
    } else {
      return;
    }
  }
}

bool TextReader::at_end() {
  skip();
  return pos_ == text_.size();
}

bool TextReader::next_is(char c) {
  skip();
  return pos_ < text_.size() && text_[pos_] == c;
}

bool TextReader::take(char c) {
  if (!next_is(c)) return false;
  ++pos_;
  return true;
}

bool TextReader::take_word(std::string_view word) {
  skip();
  const size_t end = pos_ + word.size();
  if (text_.substr(pos_, word.size()) != word) return false;
  if (end < text_.size() && word_char(text_[end])) return false;
  pos_ = end;
  return true;
}

bool TextReader::skip_to(std::string_view word) {
  const size_t found = text_.find("\n" + std::string(word), pos_);
  if (found == std::string_view::npos) return false;
  pos_ = found + 1;
  return true;
}

Result<Ok> TextReader::expect(char c) {
  if (!take(c)) return expected(std::string("'") + c + "'");
  return Ok{};
}

Result<Ok> TextReader::expect_word(std::string_view word) {
  if (!take_word(word)) return expected(fmt::format("'{}'", word));
  return Ok{};
}

Result<std::string_view> TextReader::word() {
  skip();
  const size_t begin = pos_;
  while (pos_ < text_.size() && word_char(text_[pos_])) ++pos_;
  if (pos_ == begin) return expected("a name");
  return text_.substr(begin, pos_ - begin);
}

Result<std::string> TextReader::string() {
  if (!take('"')) return expected("a string");
  std::string out;
  while (pos_ < text_.size() && text_[pos_] != '"') {
    char c = text_[pos_++];
    if (c == '\\') {
      if (pos_ == text_.size()) break;
      c = text_[pos_++];
      if (c == 'n') c = '\n';
      if (c == 'x') {
        unsigned byte = 0;
        const char* digits = text_.data() + pos_;
        if (text_.size() - pos_ < 2 ||
            std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2) {
          return fail("a string has \\x without two hexadecimal digits");
        }
        c = static_cast<char>(byte);
        pos_ += 2;
      }
    }
    out += c;
  }
  if (pos_ == text_.size()) return fail("a string does not end");
  ++pos_;
  return out;
}

Result<std::string> TextReader::label() {
  if (pos_ < text_.size() && text_[pos_] == '"') return string();
  QC_ASSIGN(std::string_view name, word());
  return std::string(name);
}

std::string_view TextReader::scan_number() {
  skip();
  const size_t begin = pos_;
  while (pos_ < text_.size() && number_char(text_[pos_])) ++pos_;
  return text_.substr(begin, pos_ - begin);
}

Result<int64_t> TextReader::integer() {
  const size_t begin = pos_;
  int64_t value = 0;
  if (!parse_all(scan_number(), value)) return pos_ = begin, expected("an integer");
  return value;
}

Result<double> TextReader::number() {
  const size_t begin = pos_;
  double value = 0;
  if (!parse_all(scan_number(), value)) return pos_ = begin, expected("a number");
  return value;
}

Result<AttrValue> TextReader::attr() {
  skip();
  if (next_is('"')) {
    QC_ASSIGN(std::string text, string());
    return AttrValue(std::move(text));
  }
  auto dim = [&]() -> Result<Dim> {
    QC_TRY(expect('('));
    const size_t begin = pos_;
    for (int depth = 1; pos_ < text_.size(); ++pos_) {
      if (text_[pos_] == '(') ++depth;
      if (text_[pos_] == ')' && --depth == 0) break;
    }
    if (pos_ == text_.size()) return fail("a dimension expression does not end");
    Result<Dim> parsed = Dim::parse(text_.substr(begin, pos_ - begin));
    if (!parsed.ok()) return locate(std::move(parsed).diag());
    ++pos_;
    return parsed;
  };
  if (take('#')) {
    QC_ASSIGN(Dim d, dim());
    return AttrValue(std::move(d));
  }
  if (!take('[')) {
    const size_t begin = pos_;
    const std::string_view text = scan_number();
    int64_t i;
    double f;
    if (parse_all(text, i)) return AttrValue(i);
    if (text == "true") return AttrValue(true);
    if (text == "false") return AttrValue(false);
    if (parse_all(text, f)) return AttrValue(f);
    if (auto type = parse_dtype(text)) {
      if (!take_word("q")) return AttrValue(*type);
      QC_ASSIGN(auto meaning, format());
      return AttrValue(QType{*type, std::move(meaning)});
    }
    pos_ = begin;
    return expected("an attribute value");
  }
  // A list: dims when one element is a dim, floats when one is not an integer, else integers.
  Dims dims;
  Floats floats;
  bool symbolic = false, real = false;
  while (!take(']')) {
    if (!floats.empty()) QC_TRY(expect(','));
    if (take('#')) {
      QC_ASSIGN(Dim d, dim());
      dims.push_back(std::move(d));
      floats.push_back(0);
      symbolic = true;
      continue;
    }
    const size_t begin = pos_;
    const std::string_view text = scan_number();
    int64_t i = 0;
    double f = 0;
    if (!parse_all(text, i)) {
      if (!parse_all(text, f)) return pos_ = begin, expected("a number");
      real = true;
    } else {
      f = static_cast<double>(i);
    }
    dims.push_back(i);
    floats.push_back(f);
  }
  if (symbolic && real) return fail("a list holds both dimensions and floats");
  if (symbolic) return AttrValue(std::move(dims));
  if (real) return AttrValue(std::move(floats));
  return AttrValue(static_dims(dims));
}

Result<DType> TextReader::dtype() {
  const size_t begin = pos_;
  QC_ASSIGN(std::string_view name, word());
  const auto found = parse_dtype(name);
  if (!found) return pos_ = begin, expected("an element type");
  return *found;
}

Result<Component> TextReader::component(DType dtype) {
  if (take_word("dynamic")) return Component::at_run_time();
  if (dtype == DType::f32 && take_word("f64")) dtype = DType::f64;
  const bool list = take('[');
  std::vector<double> numbers;
  do {
    QC_ASSIGN(double value, number());
    numbers.push_back(value);
  } while (list && take(','));
  if (list) QC_TRY(expect(']'));
  Tensor values(dtype, list ? std::vector<int64_t>{static_cast<int64_t>(numbers.size())}
                            : std::vector<int64_t>{});
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (!(std::abs(numbers[i]) <= 3.4028234663852886e38))
      return fail("a component is not a finite number");
    if (dtype == DType::i32 && (numbers[i] != std::trunc(numbers[i]) ||
                                std::abs(numbers[i]) > std::numeric_limits<int32_t>::max())) {
      return fail("a zero point is not an integer of 32 bits");
    }
    values.set_double(static_cast<int64_t>(i), numbers[i]);
  }
  return Component::of(std::move(values));
}

Result<std::shared_ptr<const Format>> TextReader::format() {
  auto f = std::make_shared<Format>();
  QC_TRY(expect('('));
  QC_ASSIGN(f->qmin, integer());
  QC_TRY(expect(','));
  QC_ASSIGN(f->qmax, integer());
  while (take(',')) {
    QC_ASSIGN(std::string_view key, word());
    QC_TRY(expect('='));
    if (key == "axis" || key == "group") {
      QC_ASSIGN((key == "axis" ? f->axis : f->group), integer());
      f->granularity = key == "axis" ? Granularity::axis : Granularity::group;
    } else if (key == "scale") {
      QC_ASSIGN(f->scale, component(DType::f32));
    } else if (key == "zero") {
      QC_ASSIGN(f->zero_point, component(DType::i32));
    } else {
      return fail(fmt::format("a format has no '{}'", key));
    }
  }
  QC_TRY(expect(')'));
  return std::shared_ptr<const Format>(std::move(f));
}

Result<Type> TextReader::type() {
  QC_ASSIGN(DType dtype, this->dtype());
  QC_ASSIGN(Dims dims, this->dims());
  Type t(dtype, std::move(dims));
  if (all_static(t.shape)) {
    auto size = checked_bytes(dtype, static_dims(t.shape));
    if (!size.ok()) return locate(std::move(size).diag());
  }
  if (take_word("nhwc")) t.layout = Layout::channels_last;
  if (take_word("q")) {
    QC_ASSIGN(t.format, format());
  }
  return t;
}

Result<Dims> TextReader::dims() {
  QC_TRY(expect('['));
  Dims out;
  if (take(']')) return out;
  while (true) {
    const size_t begin = pos_;
    for (int depth = 0; pos_ < text_.size(); ++pos_) {
      const char c = text_[pos_];
      if (c == '(') ++depth;
      if (c == ')') --depth;
      if (c == ']' || c == '\n' || (c == ',' && depth == 0)) break;
    }
    Result<Dim> dim = Dim::parse(text_.substr(begin, pos_ - begin));
    if (!dim.ok()) return locate(std::move(dim).diag());
    if (dim->is_static() && dim->value() < 0) return fail("a dimension is negative");
    out.push_back(std::move(*dim));
    if (out.size() > kMaxRank) return fail(fmt::format("more than {} dimensions", kMaxRank));
    if (take(']')) return out;
    QC_TRY(expect(','));
  }
}

Result<Tensor> TextReader::elements(DType dtype, const std::vector<int64_t>& shape) {
  QC_ASSIGN(const int64_t size, checked_bytes(dtype, shape));
  const size_t count = static_cast<size_t>(size) / bytes(dtype);
  QC_TRY(expect('['));
  // An element takes at least two characters, so the text bounds what is allocated.
  if (count > text_.size() - pos_) return fail(fmt::format("expected {} elements", count));
  Tensor out(dtype, shape);
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) QC_TRY(expect(','));
    const size_t begin = pos_;
    const std::string_view text = scan_number();
    const int64_t at = static_cast<int64_t>(i);
    int64_t integer = 0;
    uint64_t large = 0;
    float single = 0;
    double real = 0;
    if (dtype == DType::f32 && parse_all(text, single)) {
      out.mutable_data<float>()[i] = std::isnan(single) ? std::copysign(NAN, single) : single;
    } else if (is_float(dtype) && parse_all(text, real)) {
      out.set_double(at, real);
    } else if (dtype == DType::boolean && (text == "true" || text == "false")) {
      out.set_int(at, text == "true");
    } else if (dtype == DType::u64 && parse_all(text, large)) {
      out.mutable_data<uint64_t>()[i] = large;
    } else if (is_integer(dtype) && parse_all(text, integer)) {
      out.set_int(at, integer);
      if (out.as_int(at) != integer)
        return fail(fmt::format("{} does not fit {}", integer, name(dtype)));
    } else {
      pos_ = begin;
      return expected(fmt::format("element {} of {} ({})", i, count, name(dtype)));
    }
  }
  if (!take(']')) return expected(fmt::format("']' after {} elements", count));
  return out;
}

namespace {
/// Elements of fewer bits than a byte have one to themselves, of which not every value is one.
bool holds_element(const Tensor& t, int64_t i) {
  if (bits(t.dtype()) >= 8) return true;
  Tensor again(t.dtype(), {1});
  again.set_double(0, t.as_double(i));
  return again.bytes()[0] == t.bytes()[static_cast<size_t>(i)];
}
}  // namespace

Result<Tensor> TextReader::hex_bytes(DType dtype, const std::vector<int64_t>& shape) {
  QC_ASSIGN(const int64_t size, checked_bytes(dtype, shape));
  if (!take('"')) return expected("a string");
  const size_t count = static_cast<size_t>(size);
  // A byte takes two characters, so the text bounds what is allocated.
  if (count > (text_.size() - pos_) / 2) return fail(fmt::format("expected {} bytes", count));
  Tensor out(dtype, shape);
  const std::span<std::byte> to = out.mutable_bytes();
  for (size_t i = 0; i < count; ++i, pos_ += 2) {
    unsigned byte = 0;
    const char* digits = text_.data() + pos_;
    if (std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2)
      return expected(fmt::format("byte {} of {} in two hexadecimal digits", i, count));
    to[i] = static_cast<std::byte>(byte);
    if (dtype == DType::boolean ? byte > 1 : !holds_element(out, static_cast<int64_t>(i)))
      return fail(fmt::format("byte {} is no {}", i, name(dtype)));
  }
  if (!take('"')) return expected(fmt::format("'\"' after {} bytes", count));
  return out;
}

size_t TextReader::line() const {
  return 1 + static_cast<size_t>(
                 std::count(text_.begin(), text_.begin() + static_cast<int64_t>(pos_), '\n'));
}

Diag TextReader::fail(std::string what) const {
  return error(Code::format, Loc{file_, {}, {}}, "line {}: {}", line(), what);
}

Diag TextReader::expected(std::string_view what) {
  skip();
  if (pos_ == text_.size()) return fail(fmt::format("expected {}, found the end", what));
  size_t end = pos_ + 1;
  while (end < text_.size() && end < pos_ + 24 && word_char(text_[pos_]) && word_char(text_[end]))
    ++end;
  return fail(fmt::format("expected {}, found '{}'", what, text_.substr(pos_, end - pos_)));
}

Diag TextReader::locate(Diag diag) const {
  if (diag.loc.file.empty()) diag.loc.file = file_;
  if (!diag.text.starts_with("line ")) diag.text = fmt::format("line {}: {}", line(), diag.text);
  return diag;
}

}  // namespace qc
