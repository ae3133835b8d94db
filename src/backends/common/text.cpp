#include "backends/common/text.h"

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

std::string c_integer(int64_t value) {
  if (value == INT32_MIN) return "(-2147483647 - 1)";
  if (value == INT64_MIN) return "(-INT64_C(9223372036854775807) - 1)";
  return value < INT32_MIN || value > INT32_MAX ? fmt::format("INT64_C({})", value)
                                                : std::to_string(value);
}

std::string c_upper(std::string_view name) {
  std::string out;
  for (char c : name) out += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

std::string choices_text(const Program& program, const ProjectOptions& options) {
  std::string out;
  if (!options.left_out.empty())
    out = fmt::format("/* Compiled without {}, as asked for. */\n\n", options.left_out);
  if (program.dot == DotStep::mul_add) {
    out +=
        "/* Float dot products need no fma: each step is a rounded product, then a rounded sum "
        "(dot "
        "= mul_add). */\n\n";
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
