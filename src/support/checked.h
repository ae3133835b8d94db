// Overflow-checked arithmetic for sizes that come from model files.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace qc {

inline std::optional<int64_t> checked_add(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_add_overflow(a, b, &r)) return std::nullopt;
  return r;
}
inline std::optional<int64_t> checked_mul(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_mul_overflow(a, b, &r)) return std::nullopt;
  return r;
}
/// The sum of two numbers that are not negative, the largest number where it does not fit.
inline int64_t saturating_add(int64_t a, int64_t b) {
  return checked_add(a, b).value_or(INT64_MAX);
}
/// As above for a product.
inline int64_t saturating_mul(int64_t a, int64_t b) {
  return checked_mul(a, b).value_or(INT64_MAX);
}
/// Product of non-negative dims; nullopt on overflow or a negative dim.
inline std::optional<int64_t> checked_product(std::span<const int64_t> dims) {
  int64_t r = 1;
  for (int64_t d : dims) {
    if (d < 0 || __builtin_mul_overflow(r, d, &r)) return std::nullopt;
  }
  return r;
}

}  // namespace qc
