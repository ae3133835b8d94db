#include "backends/c/text.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <cstring>

namespace qc {

std::string_view c_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "float";
    case DType::f64:
      return "double";
    case DType::f16:
    case DType::bf16:
    case DType::u16:
      return "uint16_t";
    case DType::i8:
    case DType::i4:
    case DType::i2:
      return "int8_t";
    case DType::i16:
      return "int16_t";
    case DType::i32:
      return "int32_t";
    case DType::i64:
      return "int64_t";
    case DType::u32:
      return "uint32_t";
    case DType::u64:
      return "uint64_t";
    default:
      return "uint8_t";
  }
}

std::string c_float(float value) {
  if (std::isnan(value)) return "NAN";
  if (std::isinf(value)) return value < 0 ? "-INFINITY" : "INFINITY";
  return fmt::format("{:a}f", value);
}

std::string c_name(std::string_view text) {
  std::string out;
  for (char c : text) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0]))) out.insert(out.begin(), '_');
  return out;
}

std::string c_string(std::string_view text) {
  std::string out = "\"";
  for (char ch : text) {
    const auto c = static_cast<unsigned char>(ch);
    if (c >= 32 && c < 127 && c != '"' && c != '\\' && c != '?')
      out += ch;
    else
      out += fmt::format("\\{:03o}", c);
  }
  return out + "\"";
}

std::string c_upper(std::string_view name) {
  std::string out;
  for (char c : name) out += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

std::string c_comment(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool closes = (c == '/' && !out.empty() && out.back() == '*') ||
                        (c == '*' && !out.empty() && out.back() == '/');
    out += closes || c < 32 || c > 126 || c == '\\' || c == '?' ? '.' : static_cast<char>(c);
  }
  return out;
}

bool is_c_identifier(std::string_view name) {
  if (name.empty() || name.size() > 64 || std::isdigit(static_cast<unsigned char>(name[0])))
    return false;
  for (char c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') return false;
  }
  return true;
}

}  // namespace qc
