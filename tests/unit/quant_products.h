// Random operands of products of codes, for tests.
#pragma once

#include <cmath>

#include "quant/scheme.h"
#include "tests/unit/op_harness.h"

namespace qc {

inline constexpr DType kOperands[] = {DType::i8, DType::u8, DType::i16, DType::u16};
inline constexpr DType kWeights[] = {DType::i8, DType::u8, DType::i16, DType::i4, DType::u4};

/// Random products. Codes are often at the ends of their range, and so are zero points.
class Products : public ::testing::Test {
 protected:
  Products() { register_all_ops(); }

  int64_t below(int64_t n) { return static_cast<int64_t>(rng_() % static_cast<uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  int64_t code(DType t) {
    const CodeRange r = code_range(t);
    return chance(15) ? r.lo : chance(15) ? r.hi : r.lo + below(r.hi - r.lo + 1);
  }
  float scale() {
    return std::ldexp(1.0f + static_cast<float>(below(1000)) / 1000.0f,
                      static_cast<int>(below(30)) - 20);
  }
  Tensor codes(DType t, Ints shape) {
    Tensor out(t, std::move(shape));
    for (int64_t i = 0; i < out.size(); ++i) out.set_int(i, code(t));
    return out;
  }
  QType per_tensor(DType t) {
    return tensor_format(t, scale(), static_cast<int32_t>(chance(30) ? 0 : code(t)));
  }
  QType per_axis(DType t, int64_t axis, int64_t n) {
    QType out = per_tensor(t);
    auto f = std::make_shared<Format>(*out.format);
    f->granularity = Granularity::axis;
    f->axis = axis;
    Tensor s(DType::f32, {n}), z(DType::i32, {n});
    for (int64_t i = 0; i < n; ++i) {
      s.set_double(i, scale());
      z.set_int(i, code(t));
    }
    f->scale = Component::of(std::move(s));
    if (chance(50)) {
      f->zero_point = Component::of(std::move(z));
    } else {
      f->zero_point = Component{};
    }
    out.format = std::move(f);
    return out;
  }
  /// A result format in which sums up to `bound` of scale `s` spread over the codes.
  QType result(float s, double bound) {
    const DType t = kOperands[below(4)];
    const double span = static_cast<double>(code_range(t).hi - code_range(t).lo);
    return tensor_format(t, static_cast<float>(std::max(1e-30, s * bound / span)),
                         static_cast<int32_t>(code(t)));
  }

  std::mt19937_64 rng_{11};
};

}  // namespace qc
