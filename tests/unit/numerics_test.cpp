// Accuracy of the scalar functions against long double, their special values, and the order of dot
// products. The bounds are those of docs/arithmetic.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/numerics/dot.h"
#include "kernels/numerics/reduce.h"
#include "kernels/numerics/scalar_ops.h"

namespace {

using Reference = long double (*)(long double);
constexpr double kWrong = 1e9;
constexpr double kInf = std::numeric_limits<double>::infinity();

// The distance of `got` from `want` in units of the last place of T at `want`.
template <class T>
double ulps(T got, long double want) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) == std::isnan(got) ? 0 : kWrong;
  const T rounded = static_cast<T>(want);
  if (std::isinf(rounded) || std::isinf(got)) {
    if (rounded == got) return 0;
    const long double edge =
        std::numeric_limits<T>::max() * (1 - 4 * std::numeric_limits<T>::epsilon());
    const bool same_side = std::signbit(got) == std::signbit(rounded);
    return same_side && std::fabs(want) >= edge && std::fabs(got) >= edge ? 1 : kWrong;
  }
  int exponent = 0;
  std::frexp(want, &exponent);
  exponent = std::max(want == 0 ? -20000 : exponent, std::numeric_limits<T>::min_exponent);
  const long double position = std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits);
  return static_cast<double>(std::fabs(static_cast<long double>(got) - want) / position);
}

long double sigmoid(long double x) { return 1 / (1 + std::exp(-x)); }
long double softplus(long double x) {
  return std::max(x, 0.0L) + std::log1p(std::exp(-std::fabs(x)));
}
long double log_sigmoid(long double x) { return -softplus(-x); }
long double rsqrt(long double x) { return 1 / std::sqrt(x); }

uint64_t random_bits() {
  static uint64_t state = 88172645463325252u;
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return state;
}
double random_unit() { return static_cast<double>(random_bits() >> 11) * 0x1p-53; }

const std::vector<double> kSpecial = {
    0.0,   -0.0,   kInf,   -kInf, NAN,   1.0,    -1.0, 0.5,  -0.5,  2.0,   -2.0,   88.7,  88.8,
    -87.4, -103.9, -104.0, 709.7, 709.8, -745.1, -746, 1e30, -1e30, 1e-30, -1e-30, 1e-45, -1e-45};

struct F32Case {
  const char* name;
  float (*function)(float);
  Reference reference;
  double bound;
};
#define F32(name, reference, bound)                                     \
  {                                                                     \
#name, [](float x) { return qn_##name##_f32(x); }, reference, bound \
  }
const F32Case kF32[] = {
    F32(exp, std::exp, 1.0),       F32(exp2, std::exp2, 1.0),
    F32(expm1, std::expm1, 1.5),   F32(log, std::log, 1.0),
    F32(log1p, std::log1p, 1.0),   F32(tanh, std::tanh, 2.5),
    F32(sigmoid, sigmoid, 2.5),    F32(erf, std::erf, 1.5),
    F32(softplus, softplus, 2.0),  F32(rsqrt, rsqrt, 1.5),
    F32(sqrt, std::sqrt, 0.5),     F32(log2, std::log2, 0.501),
    F32(log10, std::log10, 0.501), F32(sin, std::sin, 0.501),
    F32(cos, std::cos, 0.501),     F32(tan, std::tan, 0.501),
    F32(asin, std::asin, 0.501),   F32(acos, std::acos, 0.501),
    F32(atan, std::atan, 0.501),   F32(sinh, std::sinh, 0.501),
    F32(cosh, std::cosh, 0.501),   F32(asinh, std::asinh, 0.501),
    F32(acosh, std::acosh, 0.501), F32(atanh, std::atanh, 0.501),
    F32(erfc, std::erfc, 0.501),   F32(log_sigmoid, log_sigmoid, 2.0),
};

// arithmetic.md: F1
TEST(Numerics, FloatFunctionsStayWithinTheirBounds) {
  for (const auto& c : kF32) {
    double worst = 0;
    float at = 0;
    const auto check = [&](float x) {
      const double error = ulps(c.function(x), c.reference(x));
      if (!(error <= worst)) worst = error, at = x;
    };
    // A stride through all floats, coprime with the powers of two, then the special values.
    for (uint64_t u = 0; u <= 0xffffffffu; u += 48271)
      check(qn_from_bits_f32(static_cast<uint32_t>(u)));
    for (double x : kSpecial) check(static_cast<float>(x));
    EXPECT_LE(worst, c.bound) << c.name << " at " << at << ": " << c.function(at);
  }
}

struct F64Case {
  const char* name;
  double (*function)(double);
  Reference reference;
  double bound;
};
#define F64(name, reference, bound)                                      \
  {                                                                      \
#name, [](double x) { return qn_##name##_f64(x); }, reference, bound \
  }
const F64Case kF64[] = {
    F64(exp, std::exp, 1.0),     F64(exp2, std::exp2, 1.0),   F64(expm1, std::expm1, 2.0),
    F64(log, std::log, 0.51),    F64(log2, std::log2, 0.51),  F64(log10, std::log10, 0.51),
    F64(log1p, std::log1p, 1.0), F64(tanh, std::tanh, 3.0),   F64(sinh, std::sinh, 3.0),
    F64(cosh, std::cosh, 3.0),   F64(asinh, std::asinh, 2.0), F64(acosh, std::acosh, 2.5),
    F64(atanh, std::atanh, 2.5), F64(sigmoid, sigmoid, 2.5),  F64(softplus, softplus, 2.0),
    F64(erf, std::erf, 1.5),     F64(erfc, std::erfc, 8.0),   F64(sin, std::sin, 1.0),
    F64(cos, std::cos, 1.0),     F64(tan, std::tan, 2.5),     F64(asin, std::asin, 2.0),
    F64(acos, std::acos, 2.0),   F64(atan, std::atan, 1.0),   F64(rsqrt, rsqrt, 1.5),
};

// arithmetic.md: F1, F2
TEST(Numerics, DoubleFunctionsStayWithinTheirBounds) {
  for (const auto& c : kF64) {
    double worst = 0, at = 0;
    const auto check = [&](double x) {
      const double error = ulps(c.function(x), c.reference(x));
      if (!(error <= worst)) worst = error, at = x;
    };
    for (int i = 0; i < 40000; ++i) {
      check(qn_from_bits_f64(random_bits()));
      check((random_unit() - 0.5) * 2);
      check((random_unit() - 0.5) * 40);
      check(std::ldexp(random_unit() - 0.5, static_cast<int>(random_bits() % 60) - 50));
    }
    for (double x : kSpecial) check(x);
    EXPECT_LE(worst, c.bound) << c.name << " at " << at << ": " << c.function(at);
  }
}

// arithmetic.md: F1, F7
TEST(Numerics, ActivationsStayWithinUlpsOfTheirArgument) {
  // These subtract near their zeros, as their definitions do; the error is relative to |x|.
  for (uint64_t u = 0; u <= 0xffffffffu; u += 9973) {
    const float x = qn_from_bits_f32(static_cast<uint32_t>(u));
    if (!(std::fabs(x) > 1e-30f && std::fabs(x) < 1e4f)) continue;
    const double unit = std::fabs(x) * 0x1p-24;
    const long double w = x;
    const long double cubic = std::sqrt(2 / M_PIl) * (w + 0.044715L * w * w * w);
    EXPECT_LE(std::fabs(qn_gelu_f32(x) - w / 2 * std::erfc(-w / std::sqrt(2.0L))), 2 * unit) << x;
    EXPECT_LE(std::fabs(qn_gelu_tanh_f32(x) - w / 2 * (1 + std::tanh(cubic))), 2 * unit) << x;
    EXPECT_LE(std::fabs(qn_silu_f32(x) - w * sigmoid(w)), 2.5 * unit) << x;
    EXPECT_LE(std::fabs(qn_mish_f32(x) - w * std::tanh(softplus(w))), 4 * unit) << x;
  }
}

// The class and sign of a function's answer at the points C defines.
template <class T>
void expect_same_special(T got, T want, const std::string& what) {
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(got)) << what << " = " << got;
  } else if (want == 0 || std::isinf(want)) {
    EXPECT_TRUE(got == want && std::signbit(got) == std::signbit(want)) << what << " = " << got;
  } else {
    EXPECT_LE(ulps(got, want), 2.0) << what << " = " << got;
  }
}

// arithmetic.md: F4
TEST(Numerics, PowAndAtan2FollowCAtSpecialPoints) {
  const double points[] = {0.0, -0.0, kInf, -kInf, NAN,    1,      -1,     0.5,    -0.5, 2,
                           -2,  3,    -3,   1e300, -1e300, 1e-310, 5e-324, 0x1p53, 1e17, 7.5};
  for (double x : points) {
    for (double y : points) {
      const std::string args = "(" + std::to_string(x) + ", " + std::to_string(y) + ")";
      expect_same_special(qn_pow_f64(x, y), std::pow(x, y), "pow" + args);
      expect_same_special(qn_atan2_f64(x, y), std::atan2(x, y), "atan2" + args);
      expect_same_special(qn_hypot_f64(x, y), std::hypot(x, y), "hypot" + args);
      expect_same_special(qn_fmod_f64(x, y), std::fmod(x, y), "fmod" + args);
      const float fx = static_cast<float>(x), fy = static_cast<float>(y);
      expect_same_special(qn_pow_f32(fx, fy), std::pow(fx, fy), "powf" + args);
      expect_same_special(qn_atan2_f32(fx, fy), std::atan2(fx, fy), "atan2f" + args);
    }
  }
}

// arithmetic.md: F1
TEST(Numerics, FunctionsOfTwoArgumentsStayWithinTheirBounds) {
  double pow64 = 0, pow32 = 0, atan2 = 0, hypot = 0;
  for (int i = 0; i < 60000; ++i) {
    const double x = i % 2 ? random_unit() * 10 : qn_from_bits_f64(random_bits());
    const double y =
        i % 3 ? (random_unit() - 0.5) * (i % 5 ? 20 : 600) : qn_from_bits_f64(random_bits());
    const float fx = static_cast<float>(x), fy = static_cast<float>(y);
    pow64 = std::max(pow64, ulps(qn_pow_f64(x, y), std::pow(static_cast<long double>(x), y)));
    pow32 = std::max(pow32, ulps(qn_pow_f32(fx, fy), std::pow(static_cast<long double>(fx), fy)));
    atan2 = std::max(atan2, ulps(qn_atan2_f64(x, y), std::atan2(static_cast<long double>(x), y)));
    hypot = std::max(hypot, ulps(qn_hypot_f64(x, y), std::hypot(static_cast<long double>(x), y)));
  }
  EXPECT_LE(pow64, 1.5);
  EXPECT_LE(pow32, 0.501);
  EXPECT_LE(atan2, 1.0);
  EXPECT_LE(hypot, 1.5);
}

// arithmetic.md: F9
TEST(Numerics, ErfinvInvertsErf) {
  for (int i = 0; i < 20000; ++i) {
    const double x = (random_unit() - 0.5) * 7;
    const double y = static_cast<double>(std::erf(static_cast<long double>(x)));
    // The slope says how far rounding y may move the answer.
    const double slope = 2 / std::sqrt(M_PI) * std::exp(-x * x);
    EXPECT_NEAR(qn_erfinv_f64(y), x, std::fabs(x) * 0x1p-50 + std::fabs(y) * 0x1p-53 / slope) << x;
  }
  EXPECT_EQ(qn_erfinv_f64(1.0), kInf);
  EXPECT_EQ(qn_erfinv_f64(-1.0), -kInf);
  EXPECT_TRUE(std::isnan(qn_erfinv_f64(1.5)));
}

// arithmetic.md: F8
TEST(Numerics, GammaFunctionsStayWithinTheirBounds) {
  for (int i = 0; i < 20000; ++i) {
    const double x = i % 2 ? (random_unit() - 0.5) * 40 : std::exp(random_unit() * 20 - 10);
    const long double want = std::lgamma(static_cast<long double>(x));
    EXPECT_LE(std::fabs(qn_lgamma_f64(x) - want), 64 * 0x1p-53L * std::max(1.0L, std::fabs(want)))
        << x;
    // digamma is the slope of lgamma.
    const long double h = 0x1p-20L * x;
    const long double slope = (std::lgamma(x + h) - std::lgamma(x - h)) / (2 * h);
    const double near_pole = x < 0 ? std::fabs(x - std::rint(x)) / std::fabs(x) : 1;
    if (near_pole < 0x1p-8) continue;
    EXPECT_NEAR(qn_digamma_f64(x), slope, 1e-6 * (1 + std::fabs(slope)) / near_pole) << x;
  }
  EXPECT_NEAR(qn_digamma_f64(1.0), -0.57721566490153286061, 4e-15);
  EXPECT_EQ(qn_lgamma_f64(-3.0), kInf);
  EXPECT_EQ(qn_digamma_f64(0.0), -kInf);
  EXPECT_TRUE(std::isnan(qn_digamma_f64(-2.0)));
}

TEST(Numerics, RarerOperationsKeepTheirDefinitions) {
  EXPECT_EQ(qn_sinc_f64(0.0), 1.0);
  EXPECT_EQ(qn_sinc_f64(3.0), 0.0);
  EXPECT_EQ(qn_sinc_f64(1e308), 0.0);
  EXPECT_TRUE(std::isnan(qn_sinc_f64(kInf)) && std::isnan(qn_sinc_f64(std::nan(""))));
  EXPECT_EQ(qn_sinc_f32(0.5f), static_cast<float>(2 / M_PI));
  EXPECT_EQ(qn_fmax_f32(NAN, 1), 1);
  EXPECT_EQ(qn_fmin_f64(2, NAN), 2);
  EXPECT_EQ(qn_heaviside_f32(0, 0.5f), 0.5f);
  EXPECT_EQ(qn_logaddexp_f64(-kInf, -kInf), -kInf);
  EXPECT_EQ(qn_logaddexp_f64(1000.0, 0.0), 1000.0);
  EXPECT_NEAR(qn_logaddexp_f64(0.25, 0.5), std::log(std::exp(0.25) + std::exp(0.5)), 1e-15);
  EXPECT_EQ(qn_logit_f64(0.5, -1.0, 0.0), 0.0);
  EXPECT_EQ(qn_logit_f64(0.0, -1.0, 0.0), -kInf);
  EXPECT_EQ(qn_xlogy_f32(0, 0), 0);
  EXPECT_EQ(qn_shrink_f32(3, 1, 0.5f), 2.5f);
  EXPECT_EQ(qn_shrink_f32(-3, 1, 0.5f), -2.5f);
  EXPECT_EQ(qn_shrink_f32(0.5f, 1, 0.5f), 0);
  EXPECT_EQ(qn_hard_sigmoid_f32(4, 0.25f, 0.5f), 1);
  EXPECT_EQ(qn_hardswish_f32(1.5f), 1.125f);
  EXPECT_EQ(qn_leaky_relu_f32(-2, 0.25f, 0), -0.5f);
  EXPECT_EQ(qn_threshold_f32(1, 1, 7), 7);
  EXPECT_EQ(qn_isfinite_f32(3e38f), 1);
  EXPECT_EQ(qn_isfinite_f32(QN_INF_F32), 0);
}

// arithmetic.md: F7, F10
TEST(Numerics, ActivationsAreTheirFormulas) {
  for (int i = 0; i < 10000; ++i) {
    const float x = static_cast<float>(16 * random_unit() - 8), h = x / 2,
                e = qn_exp_f32(-std::fabs(x));
    EXPECT_EQ(qn_gelu_f32(x),
              std::fma(h, qn_erf_f32(qn_mulf(x, static_cast<float>(M_SQRT1_2))), h));
    EXPECT_EQ(qn_silu_f32(x), qn_mulf(x, x < 0 ? e : 1.0f) / (1.0f + e));
    EXPECT_EQ(qn_hardswish_f32(x), qn_mulf(x, std::clamp(x + 3.0f, 0.0f, 6.0f)) / 6.0f);
    EXPECT_EQ(qn_pow_f32(x, 2.0f), qn_mulf(x, x));
  }
}

// arithmetic.md: F5
TEST(Numerics, ZerosAndSignsAreKept) {
  for (const float first : {0.0f, -0.0f}) {
    EXPECT_EQ(qn_bits_f32(qn_max_f32(first, -first)), qn_bits_f32(-first));
    EXPECT_EQ(qn_bits_f32(qn_min_f32(first, -first)), qn_bits_f32(-first));
    EXPECT_EQ(qn_bits_f32(qn_sign_f32(first)), qn_bits_f32(first));
  }
  EXPECT_TRUE(std::isnan(qn_sign_f32(NAN)));
  EXPECT_EQ(qn_sign_f32(-7.0f), -1.0f);
}

// arithmetic.md: G1
TEST(Numerics, ProductsAreRoundedProducts) {
  for (int i = 0; i < 200000; ++i) {
    const float a = qn_from_bits_f32(static_cast<uint32_t>(random_bits()));
    const float b = qn_from_bits_f32(static_cast<uint32_t>(random_bits()));
    volatile float want = a * b;
    const float got = qn_mulf(a, b);
    ASSERT_TRUE(qn_bits_f32(got) == qn_bits_f32(want) || (std::isnan(got) && std::isnan(want)));
  }
  EXPECT_EQ(qn_bits_f32(qn_mulf(-0.0f, 2.0f)), 0x80000000u);
}

// arithmetic.md: F11
TEST(Numerics, TheSoftFmaRoundsOnce) {
  for (int i = 0; i < 1000000; ++i) {
    const auto r = random_bits(), q = random_bits();
    const uint32_t mask = i % 2 ? 0xffffffffu : 0xfffff000u;  // short factors make ties likely
    const float a = qn_from_bits_f32(static_cast<uint32_t>(r) & mask);
    const float b = qn_from_bits_f32(static_cast<uint32_t>(r >> 32) & mask);
    const float p = a * b;
    float c = qn_from_bits_f32(static_cast<uint32_t>(q));
    const int apart = static_cast<int>(q >> 40 & 63) - 30;
    if (i % 4 && p != 0 && c != 0 && std::isfinite(p) && std::isfinite(c)) {
      c = std::ldexp(c, std::ilogb(p) - std::ilogb(c) + apart);
    }
    const float got = qn_soft_fmaf(a, b, c), want = std::fma(a, b, c);
    ASSERT_TRUE(qn_bits_f32(got) == qn_bits_f32(want) || (std::isnan(got) && std::isnan(want)))
        << a << " * " << b << " + " << c;
  }
}

// arithmetic.md: G4, F5
TEST(Numerics, ExtremaPropagateNaNAndClampKeepsIt) {
  EXPECT_TRUE(std::isnan(qn_max_f32(NAN, 1)) && std::isnan(qn_max_f32(1, NAN)));
  EXPECT_TRUE(std::isnan(qn_min_f64(NAN, 1)) && std::isnan(qn_min_f64(1, NAN)));
  EXPECT_TRUE(std::isnan(qn_clamp_f32(NAN, 0, 6)) && std::isnan(qn_relu_f32(NAN)));
  EXPECT_EQ(qn_clamp_f32(7, 0, 6), 6);
  EXPECT_EQ(qn_clamp_f32(1, 5, 3), 3);
  EXPECT_EQ(qn_round_f32(2.5f), 2);
  EXPECT_EQ(qn_round_f32(-3.5f), -4);
  EXPECT_EQ(qn_round_away_f32(2.5f), 3);
  EXPECT_EQ(qn_round_away_f32(-0.49999997f), 0);
}

// arithmetic.md: F6
TEST(Numerics, DivisionsOfFloatsFollowPython) {
  EXPECT_EQ(qn_mod_f32(-7, 3), 2);
  EXPECT_EQ(qn_mod_f64(7, -3), -2);
  EXPECT_EQ(qn_fmod_f32(-7, 3), -1);
  EXPECT_EQ(qn_floor_div_f32(-7, 2), -4);
  EXPECT_EQ(qn_floor_div_f64(1.0, 0.1), 9);
  EXPECT_EQ(qn_floor_div_f64(1.0, 0.0), kInf);
}

// arithmetic.md: N1, N2, N3
TEST(Numerics, IntegersWrapAndDivideAsStated) {
  EXPECT_EQ(qn_add_i8(127, 1), -128);
  EXPECT_EQ(qn_mul_i32(INT32_MAX, 2), -2);
  EXPECT_EQ(qn_neg_i64(INT64_MIN), INT64_MIN);
  EXPECT_EQ(qn_abs_i16(INT16_MIN), INT16_MIN);
  EXPECT_EQ(qn_div_i32(-7, 2), -3);
  EXPECT_EQ(qn_div_i32(INT32_MIN, -1), INT32_MIN);
  EXPECT_EQ(qn_div_u8(7, 0), 0);
  EXPECT_EQ(qn_floor_div_i32(-7, 2), -4);
  EXPECT_EQ(qn_mod_i8(-7, 3), 2);
  EXPECT_EQ(qn_mod_i8(7, -3), -2);
  EXPECT_EQ(qn_fmod_i8(-7, 3), -1);
  EXPECT_EQ(qn_fmod_i64(INT64_MIN, -1), 0);
  EXPECT_EQ(qn_pow_i32(-3, 3), -27);
  EXPECT_EQ(qn_pow_i32(2, -1), 0);
  EXPECT_EQ(qn_pow_i32(-1, -3), -1);
  EXPECT_EQ(qn_shl_u8(3, 7), 128);
  EXPECT_EQ(qn_shl_i32(1, 32), 0);
  EXPECT_EQ(qn_shr_i8(-128, 3), -16);
  EXPECT_EQ(qn_shr_i8(-1, 9), -1);
  EXPECT_EQ(qn_sign_u8(200), 1);
  EXPECT_EQ(qn_sign_i8(-5), -1);
}

// arithmetic.md: S1
TEST(Numerics, AStepOfADotProductIsOneFma) {
  for (int i = 0; i < 1000; ++i) {
    const double a = random_unit(), b = random_unit(), sum = random_unit();
    const float af = static_cast<float>(a), bf = static_cast<float>(b),
                sf = static_cast<float>(sum);
    EXPECT_EQ(qn_dot_step_f32(af, bf, sf), std::fma(af, bf, sf));
    EXPECT_EQ(qn_dot_step_f64(a, b, sum), std::fma(a, b, sum));
  }
}

}  // namespace
