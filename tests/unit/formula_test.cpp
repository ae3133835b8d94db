#include "backends/common/formula.h"

#include <gtest/gtest.h>

namespace qc {
namespace {

template <class F>
std::string fitted(std::vector<int64_t> sizes, F&& f) {
  std::vector<int64_t> values;
  for (int64_t n : sizes) values.push_back(f(n));
  return Formulas("net").integer(sizes, values);
}

std::vector<int64_t> up_to(int64_t low, int64_t high, int64_t step = 1) {
  std::vector<int64_t> out;
  for (int64_t n = low; n <= high; n += step) out.push_back(n);
  return out;
}

TEST(Formulas, ExpressionsOfSizes) {
  EXPECT_EQ(fitted({7}, [](int64_t) { return 3; }), "3");
  EXPECT_EQ(fitted(up_to(1, 64), [](int64_t) { return -3; }), "-3");
  EXPECT_EQ(fitted(up_to(1, 64), [](int64_t n) { return n; }), "n");
  EXPECT_EQ(fitted(up_to(1, 64, 2), [](int64_t n) { return 96 * n - 32; }), "96 * n - 32");
  EXPECT_EQ(fitted(up_to(1, 64), [](int64_t n) { return 64 - n; }), "-1 * n + 64");
  EXPECT_EQ(fitted(up_to(2, 64), [](int64_t n) { return 4 * n * n + n; }), "4 * n * n + n");
  EXPECT_EQ(fitted(up_to(1, 64), [](int64_t n) { return n / 2; }), "n / 2");
  EXPECT_EQ(fitted(up_to(1, 64), [](int64_t n) { return 16 * ((n + 3) / 4) - 1; }),
            "16 * ((n + 3) / 4) - 1");
}

TEST(Formulas, OtherNumbersAreTables) {
  Formulas formulas("net");
  const std::vector<int64_t> sizes = {3, 4, 6}, values = {1, 8, 2};
  EXPECT_EQ(formulas.integer(sizes, values), "net_t0[n - 3]");
  EXPECT_EQ(formulas.integer(sizes, values), "net_t0[n - 3]");
  EXPECT_EQ(formulas.tables(), "static const int32_t net_t0[] = {1, 8, 0, 2};\n\n");
  const std::vector<float> floats = {1.0f, 0.5f, 0.25f};
  EXPECT_EQ(formulas.real(sizes, floats), "net_t1[n - 3]");
  EXPECT_EQ(fitted(up_to(1, 40), [](int64_t n) { return n < 12 ? n : 12; }), "net_t0[n - 1]");
}

}  // namespace
}  // namespace qc
