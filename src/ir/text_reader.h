// TextReader: the tokens of the text forms. Hostile text gives diagnostics with line numbers.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ir/attr.h"
#include "ir/tensor.h"
#include "ir/type.h"

namespace qc {

class TextReader {
 public:
  explicit TextReader(std::string_view text, std::string file = {})
      : text_(text), file_(std::move(file)) {}

  /// Nothing but white space and `//` comments is left.
  bool at_end();
  /// The next character is `c`.
  bool next_is(char c);
  bool take(char c);
  /// Takes exactly this word (letters, digits, '_', '.'), or nothing.
  bool take_word(std::string_view word);
  /// Moves to the next line that begins with this word; false when there is none.
  bool skip_to(std::string_view word);
  Result<Ok> expect(char c);
  Result<Ok> expect_word(std::string_view word);

  Result<std::string_view> word();
  Result<std::string> string();
  Result<int64_t> integer();
  Result<double> number();
  /// `name`, `"any name"` or digits, as they follow % and @.
  Result<std::string> label();
  /// The attribute value as `str(AttrValue)` writes it.
  Result<AttrValue> attr();
  Result<DType> dtype();
  /// What follows the type of the codes of a quantized value: "q(-128, 127, scale=0.5, zero=3)".
  Result<std::shared_ptr<const Format>> format();
  /// "i8[1, 4] nhwc q(-128, 127, scale=0.5)"; the size of a static shape fits 64 bits.
  Result<Type> type();
  /// "[1, 2*s0 + 1]"
  Result<Dims> dims();
  /// "[1.0, 2.0]": exactly as many elements as the shape has.
  Result<Tensor> elements(DType dtype, const std::vector<int64_t>& shape);

  /// "0000803f" in quotes: exactly the bytes that the shape has.
  Result<Tensor> hex_bytes(DType dtype, const std::vector<int64_t>& shape);

  /// An error at this place: "line 3: expected ')', found 'x'".
  Diag fail(std::string what) const;
  /// As `fail`, adding what is found here.
  Diag expected(std::string_view what);
  /// The diagnostic with this place added, unless it already names one.
  Diag locate(Diag diag) const;
  size_t line() const;

 private:
  Result<Component> component(DType dtype);
  void skip();
  std::string_view scan_number();

  std::string_view text_;
  std::string file_;
  size_t pos_ = 0;
};

/// A float as the text forms write it: shortest digits that give the same value, always with a
/// point, exponent or name.
std::string float_text(double value);
std::string float_text(float value);
/// "[1.0, 2.0]": all elements of a tensor.
std::string elements_text(const Tensor& tensor);
/// "0000803f": bytes as they lie in memory.
std::string hex_text(std::span<const std::byte> bytes);

}  // namespace qc
