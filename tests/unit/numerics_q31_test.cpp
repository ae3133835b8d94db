// Integer-only rescaling against wide integers, over all edges of sums, mantissas and shifts.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <tuple>
#include <vector>

#include "kernels/numerics/quant_q31.h"
#include "tests/unit/wide.h"

TEST(Q31, IsTheExactQuotientRoundedOnce) {
  std::mt19937_64 rng(3);
  std::vector<int64_t> sums = {0, 1, -1, 2, 3, -3, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
  for (int bit = 0; bit < 63; ++bit) {
    for (int64_t d : {-1, 0, 1}) {
      sums.push_back((int64_t{1} << bit) + d);
      sums.push_back(-(int64_t{1} << bit) + d);
    }
  }
  for (int i = 0; i < 300; ++i) sums.push_back(static_cast<int64_t>(rng()) >> (rng() % 64));
  std::vector<int32_t> mantissas = {0, 1 << 30, INT32_MAX, (1 << 30) + 1, 0x60000000, 0x55555555};
  for (int i = 0; i < 10; ++i)
    mantissas.push_back(static_cast<int32_t>((1u << 30) | (rng() >> 34)));
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

TEST(Q31, HoldsEveryFloatMultiplier) {
  for (float m : {0.0f, 1.0f, 0.75f, 0x1p-149f, 0x1.8p-140f, 0x1p-126f, 0x1.fffffep127f, 3e-5f}) {
    int32_t mantissa = 0, shift = 0;
    qn_q31_from_f32(m, &mantissa, &shift);
    EXPECT_EQ(std::ldexp(static_cast<double>(mantissa), -shift), static_cast<double>(m));
    EXPECT_TRUE(m == 0.0f || mantissa >= 1 << 30);
  }
}
