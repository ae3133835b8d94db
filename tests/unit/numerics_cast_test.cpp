// Small floats and casts: every code, every tie, and the edges of every integer type.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "ir/tensor.h"
#include "kernels/numerics/cast.h"

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct Format {
  const char* name;
  int codes;  // codes 0 ... codes - 1, the upper half negative
  float (*decode)(int code);
  int (*encode)(double x, bool saturate);
  int largest;   // the code of the largest finite value
  int overflow;  // what a value too large becomes, unsaturated
  bool negative_zero;
};
#define SMALL(t, largest, overflow, negative_zero)                                      \
  {                                                                                     \
#t, 256, [](int c) { return qn_##t##_to_f32(static_cast<uint8_t>(c)); },              \
   [](double x, bool s) { return static_cast<int>(qn_##t##_from_f64(x, s)); }, largest, overflow, negative_zero \
  }
const Format kFormats[] = {
    SMALL(f8e4m3, 0x7e, 0x7f, true),
    SMALL(f8e5m2, 0x7b, 0x7c, true),
    SMALL(f8e4m3fnuz, 0x7f, 0x80, false),
    SMALL(f8e5m2fnuz, 0x7f, 0x80, false),
    {"f4e2m1", 16, [](int c) { return qn_f4e2m1_to_f32(static_cast<uint8_t>(c)); },
     [](double x, bool) { return static_cast<int>(qn_f4e2m1_from_f64(x)); }, 7, 7, true},
    {"f16", 65536, [](int c) { return qn_f16_to_f32(static_cast<uint16_t>(c)); },
     [](double x, bool) { return static_cast<int>(qn_f16_from_f64(x)); }, 0x7bff, 0x7c00, true},
    {"bf16", 65536, [](int c) { return qn_bf16_to_f32(static_cast<uint16_t>(c)); },
     [](double x, bool) { return static_cast<int>(qn_bf16_from_f64(x)); }, 0x7f7f, 0x7f80, true},
};

// arithmetic.md: K8
TEST(SmallFloats, EveryCodeSurvivesARoundTrip) {
  for (const auto& f : kFormats) {
    for (int code = 0; code < f.codes; ++code) {
      const float value = f.decode(code);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(f.decode(f.encode(NAN, true))) || f.codes == 16) << f.name << code;
      } else if (!std::isinf(value)) {
        EXPECT_EQ(f.encode(value, true), code) << f.name << " code " << code;
        EXPECT_EQ(f.encode(value, false), code) << f.name << " code " << code;
      }
    }
  }
}

// arithmetic.md: K5, K7, K8
TEST(SmallFloats, TiesGoToTheEvenCodeAndNeighboursToTheNearest) {
  for (const auto& f : kFormats) {
    const int sign = f.codes / 2;
    for (int code = 0; code < f.largest; ++code) {
      const double low = f.decode(code), high = f.decode(code + 1), middle = (low + high) / 2;
      ASSERT_LT(low, high);
      const int even = code % 2 == 0 ? code : code + 1;
      EXPECT_EQ(f.encode(middle, true), even) << f.name << " between " << low << " and " << high;
      // A double next to the tie: going through float first would round twice.
      EXPECT_EQ(f.encode(std::nextafter(middle, 0), true), code) << f.name << code;
      EXPECT_EQ(f.encode(std::nextafter(middle, kInf), true), code + 1) << f.name << code;
      const int negative = code == 0 && !f.negative_zero ? 0 : sign + code;
      EXPECT_EQ(f.encode(-std::nextafter(middle, 0), true), negative) << f.name << code;
    }
  }
}

// arithmetic.md: K5, K7
TEST(SmallFloats, OverflowSaturatesOrBecomesTheSpecialCode) {
  for (const auto& f : kFormats) {
    const double top = f.decode(f.largest), step = top - f.decode(f.largest - 1);
    EXPECT_EQ(f.encode(top + step / 2 * 0.999, false), f.largest) << f.name;
    EXPECT_EQ(f.encode(top + step * 0.501, false), f.overflow) << f.name;
    EXPECT_EQ(f.encode(kInf, false), f.overflow) << f.name;
    EXPECT_EQ(f.encode(1e300, false), f.overflow) << f.name;
    if (f.codes > 256) continue;
    EXPECT_EQ(f.encode(kInf, true), f.largest) << f.name;
    EXPECT_EQ(f.encode(top * 3, true), f.largest) << f.name;
    EXPECT_EQ(f.encode(-kInf, true), f.codes / 2 + f.largest) << f.name;
  }
}

// arithmetic.md: K4
TEST(SmallFloats, TheFloatPathEqualsTheDoublePath) {
  for (uint64_t u = 0; u <= 0xffffffffu; u += 4099) {
    const float x = qn_from_bits_f32(static_cast<uint32_t>(u));
    if (std::isnan(x)) continue;
    ASSERT_EQ(qn_f16_from_f32(x), qn_f16_from_f64(x)) << x;
    ASSERT_EQ(qn_bf16_from_f32(x), qn_bf16_from_f64(x)) << x;
  }
  for (uint32_t h = 0; h < 0x7c00; ++h) {
    const float low = qn_f16_to_f32(static_cast<uint16_t>(h));
    const float middle = low + (qn_f16_to_f32(static_cast<uint16_t>(h + 1)) - low) / 2;
    if (h == 0x7bff) continue;
    ASSERT_EQ(qn_f16_from_f32(middle), h + h % 2) << h;
    ASSERT_EQ(qn_f16_from_f32(std::nextafter(middle, 0.0f)), h);
    ASSERT_EQ(qn_f16_from_f32(std::nextafter(middle, 1e9f)), h + 1);
  }
  EXPECT_EQ(qn_f16_from_f32(65519.996f), 0x7bff);
  EXPECT_EQ(qn_f16_from_f32(65520.0f), 0x7c00);
  EXPECT_EQ(qn_f16_from_f32(NAN) & 0x7fff, 0x7e00);
}

// arithmetic.md: K6
TEST(SmallFloats, PowersOfTwoRoundByMode) {
  for (int code = 0; code < 255; ++code) {
    const double value = qn_f8e8m0_to_f32(static_cast<uint8_t>(code));
    EXPECT_EQ(value, std::ldexp(1.0, code - 127));
    for (int mode : {QN_ROUND_UP, QN_ROUND_DOWN, QN_ROUND_NEAREST}) {
      EXPECT_EQ(qn_f8e8m0_from_f64(value, 1, mode), code);
    }
    const int above = code < 254 ? code + 1 : 254;
    EXPECT_EQ(qn_f8e8m0_from_f64(value * 1.25, 1, QN_ROUND_UP), above);
    EXPECT_EQ(qn_f8e8m0_from_f64(value * 1.25, 1, QN_ROUND_DOWN), code);
    EXPECT_EQ(qn_f8e8m0_from_f64(value * 1.25, 1, QN_ROUND_NEAREST), code);
    EXPECT_EQ(qn_f8e8m0_from_f64(value * 1.5, 1, QN_ROUND_NEAREST), above);
  }
  EXPECT_TRUE(std::isnan(qn_f8e8m0_to_f32(255)));
  EXPECT_EQ(qn_f8e8m0_from_f64(0, 1, QN_ROUND_UP), 0);
  EXPECT_EQ(qn_f8e8m0_from_f64(kInf, 1, QN_ROUND_UP), 254);
  EXPECT_EQ(qn_f8e8m0_from_f64(kInf, 0, QN_ROUND_UP), 255);
}

template <class T, class FromFloat, class FromDouble>
void expect_saturating(FromFloat from_f32, FromDouble from_f64) {
  const T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  EXPECT_EQ(from_f32(NAN), 0);
  EXPECT_EQ(from_f64(NAN), 0);
  EXPECT_EQ(from_f32(1e30f), high);
  EXPECT_EQ(from_f32(-1e30f), low);
  EXPECT_EQ(from_f64(kInf), high);
  EXPECT_EQ(from_f64(-kInf), low);
  EXPECT_EQ(from_f64(static_cast<double>(high)), high);
  EXPECT_EQ(from_f64(static_cast<double>(low)), low);
  EXPECT_EQ(from_f64(99.99), 99);
  EXPECT_EQ(from_f32(-0.99f), 0);
  EXPECT_EQ(from_f32(-99.99f), low == 0 ? 0 : static_cast<T>(-99));
  const T part = static_cast<T>(high / (sizeof(T) == 8 ? 1 << 20 : 2));
  EXPECT_EQ(from_f64(static_cast<double>(part) + 0.75), part);
}

// arithmetic.md: K1
TEST(Casts, FloatsTruncateAndSaturate) {
  expect_saturating<int8_t>(qn_put_i8_f32, qn_put_i8_f64);
  expect_saturating<int16_t>(qn_put_i16_f32, qn_put_i16_f64);
  expect_saturating<int32_t>(qn_put_i32_f32, qn_put_i32_f64);
  expect_saturating<int64_t>(qn_put_i64_f32, qn_put_i64_f64);
  expect_saturating<uint8_t>(qn_put_u8_f32, qn_put_u8_f64);
  expect_saturating<uint16_t>(qn_put_u16_f32, qn_put_u16_f64);
  expect_saturating<uint32_t>(qn_put_u32_f32, qn_put_u32_f64);
  expect_saturating<uint64_t>(qn_put_u64_f32, qn_put_u64_f64);
  EXPECT_EQ(qn_put_i4_f32(100), 7);
  EXPECT_EQ(qn_put_i4_f32(-100), -8);
  EXPECT_EQ(qn_put_u2_f64(3.9), 3);
  EXPECT_EQ(qn_put_i2_f64(-1.9), -1);
}

// arithmetic.md: K2, K3
TEST(Casts, IntegersWrapAndBoolIsNotZero) {
  EXPECT_EQ(qn_put_i8_i64(200), -56);
  EXPECT_EQ(qn_put_u8_i64(-1), 255);
  EXPECT_EQ(qn_put_i64_u64(UINT64_MAX), -1);
  EXPECT_EQ(qn_put_i4_i64(8), -8);
  EXPECT_EQ(qn_put_i4_i64(-9), 7);
  EXPECT_EQ(qn_put_u4_i64(-1), 15);
  EXPECT_EQ(qn_put_i2_u64(6), -2);
  EXPECT_EQ(qn_put_bool_f32(0.25f), 1);
  EXPECT_EQ(qn_put_bool_f64(NAN), 1);
  EXPECT_EQ(qn_put_bool_f32(-0.0f), 0);
  EXPECT_EQ(qn_put_bool_i64(256), 1);
}

// arithmetic.md: K4
TEST(Casts, LargeIntegersRoundOnceIntoSmallFloats) {
  // 2^60 + 2^52 is a tie of bf16; the last bit decides and a double would lose it.
  const int64_t tie = (int64_t{1} << 60) + (int64_t{1} << 52);
  EXPECT_EQ(qn_bf16_to_f32(qn_put_bf16_i64(tie)), 0x1p60f);
  EXPECT_EQ(qn_bf16_to_f32(qn_put_bf16_i64(tie + 1)), 0x1.02p60f);
  EXPECT_EQ(qn_bf16_to_f32(qn_put_bf16_i64(-tie - 1)), -0x1.02p60f);
  EXPECT_EQ(qn_put_f16_u64(UINT64_MAX), 0x7c00);
}

TEST(TensorAccess, StoresAndReadsEveryElementType) {
  for (int d = 0; d < qc::kDTypeCount; ++d) {
    const auto dtype = static_cast<qc::DType>(d);
    qc::Tensor t(dtype, {3});
    t.set_double(1, 1.0);
    t.set_int(2, 1);
    EXPECT_EQ(t.as_double(1), 1.0) << qc::name(dtype);
    EXPECT_EQ(t.as_int(1), 1) << qc::name(dtype);
    EXPECT_EQ(t.as_double(2), 1.0) << qc::name(dtype);
    EXPECT_EQ(t.as_double(0), dtype == qc::DType::f8e8m0 ? 0x1p-127 : 0.0) << qc::name(dtype);
  }
  qc::Tensor i8(qc::DType::i8, {2});
  i8.set_double(0, -1000.5);
  i8.set_int(1, 200);
  EXPECT_EQ(i8.as_int(0), -128);
  EXPECT_EQ(i8.as_int(1), -56);
  qc::Tensor f32(qc::DType::f32, {1});
  f32.set_double(0, 1e10);
  EXPECT_EQ(f32.as_int(0), 10000000000);
  qc::Tensor u64(qc::DType::u64, {1});
  u64.set_int(0, -1);
  EXPECT_EQ(u64.as_double(0), 0x1p64);
}

TEST(TensorAccess, ReadsElementsThatAreNotAligned) {
  std::vector<std::byte> bytes(9);
  const float value = 2.5f;
  std::memcpy(bytes.data() + 1, &value, sizeof value);
  const auto t = qc::Tensor::borrow(qc::DType::f32, {1}, std::span(bytes).subspan(1, 4), nullptr);
  EXPECT_EQ(t.as_double(0), 2.5);
}

}  // namespace
