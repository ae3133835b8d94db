#include "ir/dim.h"

#include <gtest/gtest.h>

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

TEST(DimTest, Lists) {
  EXPECT_EQ(product({d("a"), 3, 4}), d("12*a"));
  EXPECT_EQ(product({}), Dim(1));
  EXPECT_EQ(str(Dims{1, d("a + 1")}), "[1, a + 1]");
  EXPECT_FALSE(all_static({1, d("a")}));
}

}  // namespace
}  // namespace qc
