// The order of row reductions and of running sums, written out again from docs/arithmetic.md, and
// what that order promises: neutral elements after the end change no bit, errors grow with log n.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "kernels/numerics/chain.h"
#include "kernels/numerics/reduce.h"

namespace {

constexpr size_t kBlock = 1024;
// Around multiples of the lanes, of a block, and of pairs of blocks.
const std::vector<size_t> kLengths = {0,    1,    5,    15,   16,   17,   257,  1008,
                                      1023, 1024, 1025, 1039, 1040, 2047, 2048, 2049,
                                      3071, 3073, 4096, 4097, 7168, 7169, 9999, 17 * 1024 + 3};

template <class T>
std::vector<T> random_row(size_t n, unsigned seed = 1) {
  std::mt19937 rng(seed);
  std::vector<T> x(n);
  for (size_t i = 0; i < n; ++i) {
    const double unit = static_cast<double>(rng()) / 4294967296.0 - 0.5;
    x[i] = static_cast<T>(unit * std::exp2(static_cast<double>(i % 9)));
  }
  return x;
}

// A reduction by the lanes and the tree: step(lane, element), join(left, right).
template <class T, class Step, class Join>
T block_of(const T* x, size_t n, T neutral, Step step, Join join) {
  T lane[16];
  std::fill_n(lane, 16, neutral);
  for (size_t i = 0; i < n; ++i) lane[i % 16] = step(lane[i % 16], x[i]);
  for (int width = 8; width > 0; width /= 2) {
    for (int j = 0; j < width; ++j) lane[j] = join(lane[j], lane[j + width]);
  }
  return lane[0];
}

// The left part of a node is the largest power of two of blocks that leaves something to the right.
template <class T, class Step, class Join>
T tree_of(const T* x, size_t n, T neutral, Step step, Join join) {
  if (n <= kBlock) return block_of(x, n, neutral, step, join);
  size_t left = kBlock;
  while (2 * left < n) left *= 2;
  return join(tree_of(x, left, neutral, step, join),
              tree_of(x + left, n - left, neutral, step, join));
}

template <class T>
T tree_sum(const T* x, size_t n) {
  return tree_of(x, n, T(0), std::plus<T>(), std::plus<T>());
}

// The sum of everything before `end` in one chain whose elements are sums of `unit` elements.
template <class T>
T chain_sum(const T* x, size_t first, size_t end, size_t unit) {
  T sum = 0;
  for (size_t at = first; at < end; at += unit) {
    const size_t stop = std::min(at + unit, end);
    sum += unit == 1 ? x[at] : chain_sum(x, at, stop, unit / 16);
  }
  return sum;
}

// arithmetic.md: S4, S9
TEST(RowReductions, AreBlocksOfSixteenLanesAndATree) {
  for (size_t n : kLengths) {
    const auto x = random_row<float>(n);
    const auto d = random_row<double>(n);
    std::vector<float> spread(3 * n);
    for (size_t i = 0; i < n; ++i) spread[3 * i] = x[i];
    const auto count = static_cast<int64_t>(n);
    EXPECT_EQ(qn_sum_f32(x.data(), count, 1), tree_sum(x.data(), n)) << n;
    EXPECT_EQ(qn_sum_f32(spread.data(), count, 3), tree_sum(x.data(), n)) << n;
    EXPECT_EQ(qn_sum_f64(d.data(), count, 1), tree_sum(d.data(), n)) << n;
    if (n == 0) continue;
    EXPECT_EQ(qn_row_max_f32(x.data(), count, 1), *std::max_element(x.begin(), x.end()));
    EXPECT_EQ(qn_row_min_f32(spread.data(), count, 3), *std::min_element(x.begin(), x.end()));
    auto with_nan = x;
    with_nan[n / 2] = NAN;
    EXPECT_TRUE(std::isnan(qn_row_max_f32(with_nan.data(), count, 1)));
  }
  EXPECT_EQ(qn_row_max_f32(nullptr, 0, 1), -std::numeric_limits<float>::infinity());
}

// arithmetic.md: S5, S6, S7, S8
TEST(RowReductions, OtherReductionsHaveTheSameLanesAndTree) {
  const std::plus<float> add;
  const auto times = [](float a, float b) { return qn_mulf(a, b); };
  for (size_t n : kLengths) {
    const auto x = random_row<float>(n, 2);
    const auto count = static_cast<int64_t>(n);
    const auto squared = [](float sum, float v) { return std::fma(v, v, sum); };
    EXPECT_EQ(qn_sum_sq_f32(x.data(), count, 1), tree_of(x.data(), n, 0.0f, squared, add)) << n;
    EXPECT_EQ(qn_prod_f32(x.data(), count, 1), tree_of(x.data(), n, 1.0f, times, times)) << n;
    if (n == 0) continue;
    const float mean = tree_sum(x.data(), n) / static_cast<float>(n);
    EXPECT_EQ(qn_mean_f32(x.data(), count, 1), mean) << n;
    const auto deviation = [mean](float sum, float v) { return std::fma(v - mean, v - mean, sum); };
    EXPECT_EQ(qn_sum_sq_dev_f32(x.data(), count, 1, mean),
              tree_of(x.data(), n, 0.0f, deviation, add))
        << n;
  }
}

// arithmetic.md: S20
TEST(RowReductions, NeutralElementsAfterTheEndChangeNoBit) {
  for (size_t n : kLengths) {
    auto x = random_row<float>(n), ones = x;
    const auto count = static_cast<int64_t>(n);
    const float sum = qn_sum_f32(x.data(), count, 1), square = qn_sum_sq_f32(x.data(), count, 1);
    const float magnitudes = qn_sum_abs_f32(x.data(), count, 1);
    const float product = qn_prod_f32(x.data(), count, 1);
    for (size_t more : {1, 15, 1024, 5000}) {
      x.resize(n + more, 0.0f);
      ones.resize(n + more, 1.0f);
      const auto longer = static_cast<int64_t>(n + more);
      EXPECT_EQ(qn_bits_f32(qn_sum_f32(x.data(), longer, 1)), qn_bits_f32(sum)) << n;
      EXPECT_EQ(qn_bits_f32(qn_sum_sq_f32(x.data(), longer, 1)), qn_bits_f32(square)) << n;
      EXPECT_EQ(qn_bits_f32(qn_sum_abs_f32(x.data(), longer, 1)), qn_bits_f32(magnitudes)) << n;
      EXPECT_EQ(qn_bits_f32(qn_prod_f32(ones.data(), longer, 1)), qn_bits_f32(product)) << n;
    }
  }
}

// Constants are the worst: all roundings of a chain may go one way.
// arithmetic.md: S21
TEST(RowReductions, ErrorsGrowWithTheLogarithm) {
  for (int power = 10; power <= 22; ++power) {
    const size_t n = size_t{1} << power;
    for (float value : {0.1f, 0.7f, 1.0f / 3, 255.9f}) {
      const std::vector<float> x(n, value);
      const double want = static_cast<double>(value) * static_cast<double>(n);
      const double rows = qn_sum_f32(x.data(), static_cast<int64_t>(n), 1);
      EXPECT_LT(std::fabs(rows / want - 1), (68 + power - 10) * 0x1p-24) << value << " x " << n;
      EXPECT_LT(std::fabs(rows / want - 1), 1e-6) << value << " x " << n;
    }
  }
}

// arithmetic.md: S6
TEST(RowReductions, VarianceFarFromZeroIsThatOfTheCentredValues) {
  const size_t n = 300000;
  std::mt19937 rng(3);
  std::vector<float> x(n);
  double mean = 0, var = 0;
  for (float& v : x) v = 1e4f + static_cast<float>(rng()) / 4294967296.0f;
  for (float v : x) mean += v / static_cast<double>(n);
  for (float v : x) var += (v - mean) * (v - mean) / static_cast<double>(n);
  const auto count = static_cast<int64_t>(n);
  const float centre = qn_mean_f32(x.data(), count, 1);
  EXPECT_NEAR(centre / mean, 1, 1e-7);
  const double got = qn_sum_sq_dev_f32(x.data(), count, 1, centre) / static_cast<float>(n);
  EXPECT_NEAR(got / var, 1, 4e-6);  // the mean's own rounding is 3e-6 of it
}

template <class T>
void check_chain(size_t n, void (*full)(T*, int64_t, T), T (*sum)(const T*, int64_t, T)) {
  const auto x = random_row<T>(n, 2);
  T above[QN_CHAINS] = {}, low = 0;
  for (size_t i = 0; i < n; ++i) {
    low += x[i];
    const auto count = static_cast<int64_t>(i) + 1;
    if (i < 300 || n - i < 40) {
      EXPECT_EQ(sum(above, count, low), chain_sum(x.data(), 0, i + 1, size_t{1} << 16)) << i;
    }
    if (count % QN_CHAIN != 0) continue;
    full(above, count, low);
    low = 0;
  }
}

// arithmetic.md: S11
TEST(Chains, AreChainsOfSixteenChains) {
  check_chain<float>(70000, qn_chain_full_f32, qn_chain_sum_f32);
  check_chain<double>(5000, qn_chain_full_f64, qn_chain_sum_f64);
}

// arithmetic.md: S21
TEST(Chains, RunningSumsNeverFallAndErrorsGrowWithTheLogarithm) {
  for (float value : {0.1f, 0.7f, 1.0f / 3, 255.9f}) {
    float above[QN_CHAINS] = {}, low = 0, last = 0;
    for (int64_t count = 1; count <= 1 << 20; ++count) {
      low += value;
      const float sum = qn_chain_sum_f32(above, count, low);
      ASSERT_GE(sum, last) << value << " x " << count;
      ASSERT_LT(std::fabs(sum / (static_cast<double>(value) * static_cast<double>(count)) - 1),
                2e-6)
          << value << " x " << count;
      last = sum;
      if (count % QN_CHAIN != 0) continue;
      qn_chain_full_f32(above, count, low);
      low = 0;
    }
  }
}

}  // namespace
