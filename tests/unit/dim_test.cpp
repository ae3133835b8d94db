#include "ir/dim.h"

#include <gtest/gtest.h>

#include "ir/guard.h"

namespace qc {
namespace {

Dim d(std::string_view text) {
  auto parsed = Dim::parse(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return parsed.ok() ? *parsed : Dim(-1);
}

TEST(DimTest, EqualExpressionsCompareEqual) {
  EXPECT_EQ(d("(s0 + 1)*(s0 - 1)"), d("s0*s0 - 1"));
  EXPECT_EQ(d("2*s0 + s1 - s0"), d("s1 + s0"));
  EXPECT_EQ(d("(4*s0 + 8)//4"), d("s0 + 2"));
  EXPECT_EQ(d("Max(a, b)"), d("max(b, a)"));
  EXPECT_EQ(d("a - a"), Dim(0));
  EXPECT_EQ(d("Mod(6*a, 3)"), Dim(0));
  EXPECT_FALSE(d("a + 1") == d("a"));
  EXPECT_FALSE(d("a//2*2") == d("a"));
}

TEST(DimTest, NumbersRoundTowardMinusInfinity) {
  EXPECT_EQ(floordiv(Dim(-7), Dim(2)), Dim(-4));
  EXPECT_EQ(mod(Dim(-7), Dim(2)), Dim(1));
  EXPECT_EQ(ceildiv(Dim(7), Dim(2)), Dim(4));
  EXPECT_EQ(floordiv(Dim(7), Dim(0)), Dim(0));
}

TEST(DimTest, TextParsesBack) {
  for (const char* text : {"batch", "2*s0 + 1", "-s0 + 3", "floordiv(s0 - 1, 2) + 1", "s0*s1 - 4",
                           "min(a, 16)", "mod(2*a + 1, 3)", "-3"}) {
    EXPECT_EQ(d(text).str(), d(d(text).str()).str());
    EXPECT_EQ(d(text), d(d(text).str())) << text;
  }
  EXPECT_EQ(d("2*s0 + 1").str(), "2*s0 + 1");
}

TEST(DimTest, SubstitutionGivesNumbers) {
  EXPECT_EQ(d("(s0 + 2*p - k)//2 + 1").substitute({{"s0", 224}, {"p", 3}, {"k", 7}}), Dim(112));
  EXPECT_EQ(d("max(a, b)*2").substitute({{"a", 3}}), d("2*max(3, b)"));
  std::set<std::string> symbols;
  d("a*floordiv(b, c) + 1").collect_symbols(symbols);
  EXPECT_EQ(symbols, (std::set<std::string>{"a", "b", "c"}));
}

TEST(DimTest, BadTextIsRefused) {
  for (const char* text :
       {"", "1 +", "(1", "s0 s1", "f(1, 2)", "99999999999999999999", "a ** b", "max(1)"}) {
    EXPECT_FALSE(Dim::parse(text).ok()) << text;
  }
  EXPECT_FALSE(Dim::parse(std::string(10000, '(')).ok());
  EXPECT_FALSE(Dim::parse(std::string(10000, '-')).ok());
}

TEST(DimGuardTest, HoldsForSomeSizes) {
  const DimGuard guard = *DimGuard::parse("s0 % 4 == 2*s1");
  EXPECT_EQ(guard.str(), "mod(s0, 4) == 2*s1");
  EXPECT_EQ(guard.holds(), std::nullopt);
  EXPECT_EQ(guard.substitute({{"s0", 6}}).holds(), std::nullopt);
  EXPECT_EQ(guard.substitute({{"s0", 6}, {"s1", 1}}).holds(), true);
  EXPECT_EQ(guard.substitute({{"s0", 7}, {"s1", 1}}).holds(), false);
  const std::pair<const char*, bool> relations[] = {{"1 < 2", true},   {"2 <= 2", true},
                                                    {"2 > 2", false},  {"1 >= 2", false},
                                                    {"1 != 1", false}, {"2 == 2", true}};
  for (const auto& [text, holds] : relations) {
    EXPECT_EQ(DimGuard::parse(text)->holds(), holds) << text;
    EXPECT_EQ(DimGuard::parse(text)->str(), text);
  }
  for (const char* text : {"", "s0", "s0 = 3", "== 3", "1 < 2 < 3"})
    EXPECT_FALSE(DimGuard::parse(text).ok()) << text;
}

TEST(DimTest, Lists) {
  EXPECT_EQ(product({d("a"), 3, 4}), d("12*a"));
  EXPECT_EQ(product({}), Dim(1));
  EXPECT_EQ(str(Dims{1, d("a + 1")}), "[1, a + 1]");
  EXPECT_FALSE(all_static({1, d("a")}));
}

}  // namespace
}  // namespace qc
