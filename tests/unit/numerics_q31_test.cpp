// Integer-only rescaling against wide integers, over all edges of sums, mantissas and shifts.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <tuple>
#include <vector>

#include "kernels/numerics/quant_q31.h"
#include "tests/unit/wide.h"

namespace {

std::vector<int64_t> edge_sums(std::mt19937_64& rng, int random) {
  std::vector<int64_t> sums = {0, 1, -1, 2, 3, -3, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
  for (int bit = 0; bit < 63; ++bit) {
    for (int64_t d : {-1, 0, 1}) {
      sums.push_back((int64_t{1} << bit) + d);
      sums.push_back(-(int64_t{1} << bit) + d);
    }
  }
  for (int i = 0; i < random; ++i) sums.push_back(static_cast<int64_t>(rng()) >> (rng() % 64));
  return sums;
}

std::vector<int32_t> edge_mantissas(std::mt19937_64& rng) {
  std::vector<int32_t> mantissas = {0, 1 << 30, INT32_MAX, (1 << 30) + 1, 0x60000000, 0x55555555};
  for (int i = 0; i < 10; ++i)
    mantissas.push_back(static_cast<int32_t>((1u << 30) | (rng() >> 34)));
  return mantissas;
}

}  // namespace

// arithmetic.md: Q34
TEST(Q31, IsTheExactQuotientRoundedOnce) {
  std::mt19937_64 rng(3);
  const std::vector<int64_t> sums = edge_sums(rng, 300);
  const std::vector<int32_t> mantissas = edge_mantissas(rng);
  for (int32_t shift = -60; shift < 190; ++shift) {
    for (int32_t mantissa : mantissas) {
      for (int64_t sum : sums) {
        for (const auto& [zero, lo, hi] : {std::tuple{0, -128, 127}, std::tuple{255, 0, 255},
                                           std::tuple{-32768, -32768, 32767}}) {
          ASSERT_EQ(qn_rescale_q31(sum, mantissa, shift, zero, lo, hi),
                    wide_rescale(sum, mantissa, shift, zero, lo, hi))
              << sum << " * " << mantissa << " >> " << shift;
        }
      }
    }
  }
}

// arithmetic.md: Q34
TEST(Q31, HoldsEveryFloatMultiplier) {
  for (float m : {0.0f, 1.0f, 0.75f, 0x1p-149f, 0x1.8p-140f, 0x1p-126f, 0x1.fffffep127f, 3e-5f}) {
    int32_t mantissa = 0, shift = 0;
    qn_q31_from_f32(m, &mantissa, &shift);
    EXPECT_EQ(std::ldexp(static_cast<double>(mantissa), -shift), static_cast<double>(m));
    EXPECT_TRUE(m == 0.0f || mantissa >= 1 << 30);
  }
}

// arithmetic.md: Q59
TEST(Q31, MeansAreTheExactQuotientRoundedOnce) {
  std::mt19937_64 rng(5);
  const std::vector<int64_t> sums = edge_sums(rng, 60);
  const std::vector<int32_t> mantissas = edge_mantissas(rng);
  for (int32_t n : {1, 2, 3, 7, 9, 49, 255, 256, 65535, 1 << 24, INT32_MAX}) {
    for (int32_t shift = -40; shift < 110; ++shift) {
      for (int32_t mantissa : mantissas) {
        for (int64_t sum : sums) {
          const Wide product = Wide{sum} * mantissa;
          Wide q = 0;  // beyond 2^95 every product is less than half
          if (shift <= 95) {
            const int left = shift < -32 ? 32 : -shift;  // more is beyond every code
            q = shift < 0 ? wide_quotient(product * (Wide{1} << left), n)
                          : wide_quotient(product, Wide{n} << shift);
          }
          for (const auto& [zero, lo, hi] : {std::tuple{0, -128, 127}, std::tuple{255, 0, 255}}) {
            ASSERT_EQ(qn_mean_q31(sum, n, mantissa, shift, zero, lo, hi),
                      wide_code(q, zero, lo, hi))
                << sum << " * " << mantissa << " >> " << shift << " / " << n;
          }
        }
      }
    }
  }
  EXPECT_EQ(qn_mean_q31(0, 0, 1 << 30, 30, 3, -128, 127), -128);
}

// arithmetic.md: Q59
TEST(Q31, SumsOfCodesAreRoundedOnce) {
  std::mt19937_64 rng(7);
  const int32_t codes[] = {-32768, -32767, -129, -128, -1, 0, 1, 127, 128, 255, 32767, 65535};
  std::vector<float> ratios = {0x1p-20f, 0x1p-8f, 0.5f, 1.0f, 0x1.000002p0f, 1.5f, 3.0f, 0x1p10f};
  for (int i = 0; i < 40; ++i) {
    ratios.push_back(std::ldexp(1.0f + static_cast<float>(rng() >> 41) * 0x1p-23f,
                                static_cast<int>(rng() % 24) - 16));
  }
  for (float ra : ratios) {
    for (float magnitude : ratios) {
      for (float rb : {magnitude, -magnitude}) {
        int32_t ma = 0, mb = 0, shift = 0;
        qn_q31_pair(ra, rb, &ma, &mb, &shift);
        // Multiples of 2^-shift; exact while the ratios differ by less than 2^7.
        const double unit = std::ldexp(1.0, -shift);
        const double larger = std::fmax(std::fabs(ra), std::fabs(rb));
        const double smaller = std::fmin(std::fabs(ra), std::fabs(rb));
        ASSERT_LE(std::fabs(ma * unit - ra), larger < 128 * smaller ? 0.0 : unit / 2);
        ASSERT_LE(std::fabs(mb * unit - rb), larger < 128 * smaller ? 0.0 : unit / 2);
        ASSERT_GE(std::max(std::abs(ma), std::abs(mb)), 1 << 30);
        for (int32_t a : codes) {
          for (int32_t b : codes) {
            for (const auto& [zero, lo, hi] :
                 {std::tuple{-3, -128, 127}, std::tuple{9, 0, 65535}}) {
              const Wide sum = Wide{a - 5} * ma + Wide{b + 7} * mb;
              const Wide q =
                  shift > 0 ? wide_quotient(sum, Wide{1} << shift) : sum * (Wide{1} << -shift);
              ASSERT_EQ(qn_add_codes_q31(a, b, 5, -7, ma, mb, shift, zero, lo, hi),
                        wide_code(q, zero, lo, hi))
                  << a << " * " << ra << " + " << b << " * " << rb;
            }
          }
        }
      }
    }
  }
}
