#include "ir/dtype.h"

#include <array>

namespace qc {
namespace {
enum class Class : uint8_t { floating, sint, uint, boolean };
struct Row {
  std::string_view name;
  int bits;
  Class kind;
};
constexpr std::array<Row, kDTypeCount> kRows = {{
    {"f32", 32, Class::floating},
    {"f64", 64, Class::floating},
    {"f16", 16, Class::floating},
    {"bf16", 16, Class::floating},
    {"i8", 8, Class::sint},
    {"i16", 16, Class::sint},
    {"i32", 32, Class::sint},
    {"i64", 64, Class::sint},
    {"u8", 8, Class::uint},
    {"u16", 16, Class::uint},
    {"u32", 32, Class::uint},
    {"u64", 64, Class::uint},
    {"bool", 8, Class::boolean},
    {"f8e4m3", 8, Class::floating},
    {"f8e5m2", 8, Class::floating},
    {"f8e4m3fnuz", 8, Class::floating},
    {"f8e5m2fnuz", 8, Class::floating},
    {"f8e8m0", 8, Class::floating},
    {"f4e2m1", 4, Class::floating},
    {"i4", 4, Class::sint},
    {"u4", 4, Class::uint},
    {"i2", 2, Class::sint},
    {"u2", 2, Class::uint},
}};
const Row& row(DType dtype) { return kRows[static_cast<size_t>(dtype)]; }
}  // namespace

std::string_view name(DType dtype) { return row(dtype).name; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

size_t bytes(DType dtype) {
  return row(dtype).bits < 8 ? 1 : static_cast<size_t>(row(dtype).bits) / 8;
}
int bits(DType dtype) { return row(dtype).bits; }
bool is_float(DType dtype) { return row(dtype).kind == Class::floating; }
bool is_integer(DType dtype) {
  return row(dtype).kind == Class::sint || row(dtype).kind == Class::uint;
}
bool is_signed(DType dtype) { return row(dtype).kind == Class::sint || is_float(dtype); }

}  // namespace qc
