// Element types. Sub-byte types are stored one element per byte everywhere inside quantc; packing
// is a matter of file formats and of weight packing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace qc {

enum class DType : uint8_t {
  f32,
  f64,
  f16,
  bf16,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  boolean,
  f8e4m3,
  f8e5m2,
  f8e4m3fnuz,
  f8e5m2fnuz,
  f8e8m0,
  f4e2m1,
  i4,
  u4,
  i2,
  u2,
};
inline constexpr int kDTypeCount = static_cast<int>(DType::u2) + 1;

/// The name used in the text form and in messages: "f32", "i8", "bool", ...
std::string_view name(DType dtype);
std::optional<DType> parse_dtype(std::string_view name);

/// Bytes one element takes in memory (1 for sub-byte types).
size_t bytes(DType dtype);
/// Bits of information per element: 4 for i4, 2 for u2, else 8 * bytes.
int bits(DType dtype);

/// f32, f64, f16, bf16 and the small floats.
bool is_float(DType dtype);
/// Signed and unsigned integers; not bool.
bool is_integer(DType dtype);
bool is_signed(DType dtype);

}  // namespace qc
