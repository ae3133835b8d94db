// Element types as compile-time types, for reference evaluation over all arithmetic types.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "ir/dot.h"
#include "ir/tensor.h"
#include "kernels/numerics/base.h"
#include "kernels/numerics/half.h"

namespace qc {

/// An element type whose arithmetic is that of T itself.
template <class T>
struct Native {
  using Element = T;
  static T load(const Tensor& t, int64_t i) { return t.data<T>()[i]; }
  static void store(Tensor& t, int64_t i, T v) { t.mutable_data<T>()[i] = v; }
  /// `v` as T, limited to T's range for integers.
  static T limit(double v) {
    if constexpr (std::numeric_limits<T>::is_integer) {
      if (v <= static_cast<double>(std::numeric_limits<T>::min()))
        return std::numeric_limits<T>::min();
      if (v >= static_cast<double>(std::numeric_limits<T>::max()))
        return std::numeric_limits<T>::max();
    }
    return static_cast<T>(v);
  }
};

/// 16-bit floats: computed in f32, rounded once when stored.
template <float (*Decode)(uint16_t), uint16_t (*Encode)(float)>
struct Rounded {
  using Element = float;
  static float load(const Tensor& t, int64_t i) { return Decode(t.data<uint16_t>()[i]); }
  static void store(Tensor& t, int64_t i, float v) { t.mutable_data<uint16_t>()[i] = Encode(v); }
  static float limit(double v) { return static_cast<float>(v); }
};

/// All elements of a tensor as the type they are computed in.
template <class T>
std::vector<typename T::Element> elements(const Tensor& t) {
  std::vector<typename T::Element> out(static_cast<size_t>(t.size()));
  for (int64_t i = 0; i < t.size(); ++i) out[static_cast<size_t>(i)] = T::load(t, i);
  return out;
}

/// One step of a dot product, sum + a * b: floats as `dot` says, integers wrapping.
template <DotStep dot, class E>
E dot_step(E a, E b, E sum) {
  if constexpr (std::is_same_v<E, float>) {
    return dot == DotStep::fma ? qn_fmaf(a, b, sum) : qn_mulf(a, b) + sum;
  } else if constexpr (std::is_same_v<E, double>) {
    return dot == DotStep::fma ? qn_fma(a, b, sum) : qn_mul(a, b) + sum;
  } else {
    using U = std::conditional_t<sizeof(E) == 8, uint64_t, uint32_t>;
    return static_cast<E>(static_cast<U>(a) * static_cast<U>(b) + static_cast<U>(sum));
  }
}

/// Calls `f` with the choice as a constant: std::integral_constant<DotStep, ...>.
template <class F>
void with_dot(DotStep dot, F&& f) {
  if (dot == DotStep::fma) {
    f(std::integral_constant<DotStep, DotStep::fma>{});
  } else {
    f(std::integral_constant<DotStep, DotStep::mul_add>{});
  }
}

/// start + a . b of n elements, k ascending, those of a being `stride` apart.
inline float dot_product(DotStep step, const float* a, int64_t stride, const float* b, int64_t n,
                         float start) {
  float sum = start;
  with_dot(step, [&](auto dot) {
    for (int64_t k = 0; k < n; ++k) sum = dot_step<dot()>(a[k * stride], b[k], sum);
  });
  return sum;
}

/// The entry for T of a table with one per arithmetic type: members f32, f64, i8, ..., u64.
template <class T, class Table>
const auto& entry_for(const Table& t) {
  if constexpr (std::is_same_v<T, float>)
    return t.f32;
  else if constexpr (std::is_same_v<T, double>)
    return t.f64;
  else if constexpr (std::is_same_v<T, int8_t>)
    return t.i8;
  else if constexpr (std::is_same_v<T, int16_t>)
    return t.i16;
  else if constexpr (std::is_same_v<T, int32_t>)
    return t.i32;
  else if constexpr (std::is_same_v<T, int64_t>)
    return t.i64;
  else if constexpr (std::is_same_v<T, uint8_t>)
    return t.u8;
  else if constexpr (std::is_same_v<T, uint16_t>)
    return t.u16;
  else if constexpr (std::is_same_v<T, uint32_t>)
    return t.u32;
  else
    return t.u64;
}

/// Suffix of kernels for an arithmetic type: "f32", "i8", ...; an error for small floats, sub-byte
/// types and bool.
inline Result<std::string> arithmetic_suffix(DType dtype, const Loc& loc) {
  if (dtype == DType::boolean || bits(dtype) < 8 || (is_float(dtype) && bits(dtype) == 8)) {
    return error(Code::unsupported, loc, "no arithmetic on {} values", name(dtype));
  }
  return std::string(name(dtype));
}

/// Calls `body` with Native<T>{} or a 16-bit float type for every arithmetic element type.
template <class F>
Result<Ok> for_arithmetic_type(DType dtype, const Loc& loc, F&& body) {
  switch (dtype) {
    case DType::f32:
      body(Native<float>{});
      break;
    case DType::f64:
      body(Native<double>{});
      break;
    case DType::f16:
      body(Rounded<qn_f16_to_f32, qn_f16_from_f32>{});
      break;
    case DType::bf16:
      body(Rounded<qn_bf16_to_f32, qn_bf16_from_f32>{});
      break;
    case DType::i8:
      body(Native<int8_t>{});
      break;
    case DType::i16:
      body(Native<int16_t>{});
      break;
    case DType::i32:
      body(Native<int32_t>{});
      break;
    case DType::i64:
      body(Native<int64_t>{});
      break;
    case DType::u8:
      body(Native<uint8_t>{});
      break;
    case DType::u16:
      body(Native<uint16_t>{});
      break;
    case DType::u32:
      body(Native<uint32_t>{});
      break;
    case DType::u64:
      body(Native<uint64_t>{});
      break;
    default:
      return error(Code::unsupported, loc, "no arithmetic on {} values", name(dtype));
  }
  return Ok{};
}

}  // namespace qc
