#include "ir/dim.h"

#include <gtest/gtest.h>

#include "ir/guard.h"
#include "support/budget.h"

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

// The least number divided by -1 is beyond 64 bits, and the processor traps.
TEST(DimTest, QuotientsOfTheLeastNumber) {
  const Dim least(INT64_MIN), n = Dim::symbol("n");
  for (const Dim& a : {n + least, n * least, least}) {
    EXPECT_EQ(floordiv(a, Dim(-1)), Dim(-1) * a);
    EXPECT_EQ(mod(a, Dim(-1)), Dim(0));
  }
  const Dim quotient = floordiv(n, Dim::symbol("m"));
  EXPECT_EQ(quotient.substitute({{"n", INT64_MIN}, {"m", -1}}), least);
}

TEST(DimTest, NumbersBeyond64BitsAreRefusedInTextAndCounted) {
  for (const char* text :
       {"n + 9223372036854775807 + 1", "floordiv(n + 9223372036854775807 + 1, -1)",
        "n*4294967296*4294967296", "-9223372036854775807 - 2"}) {
    EXPECT_FALSE(Dim::parse(text).ok()) << text;
  }
  EXPECT_TRUE(Dim::parse("n + 9223372036854775807").ok());
  const uint64_t before = Dim::overflows();
  (void)d("n*n*n").substitute({{"n", 1 << 20}});
  EXPECT_EQ(Dim::overflows(), before);
  (void)d("n*n*n").substitute({{"n", 1 << 22}});
  EXPECT_GT(Dim::overflows(), before);
}

TEST(DimTest, TermsAreCountedAndDepthIsBounded) {
  Budget budget;
  const auto powers = within(&budget, [] {
    Dim all = d("a + b + c + d + e + f");
    for (int i = 0; i < 7; ++i) all = all * (all + d("g"));
    return Result<Dim>(all);
  });
  ASSERT_FALSE(powers.ok());
  EXPECT_EQ(powers.diag().code, Code::limit);
  EXPECT_NE(powers.diag().text.find("--budget"), std::string::npos) << powers.diag().text;
  Budget other(1000);
  const auto deep = within(&other, [] {
    Dim nested = d("a");
    for (int i = 0; i < 2000; ++i) nested = min(nested + Dim(1), d("b"));
    return Result<Dim>(nested);
  });
  ASSERT_FALSE(deep.ok());
  EXPECT_EQ(deep.diag().text, "a symbolic size is nested too deeply");
  Budget third;
  const auto squares = within(&third, [] {
    Dim power = d("a");
    for (int i = 0; i < 30; ++i) power = power * power;
    return Result<Dim>(power);
  });
  ASSERT_FALSE(squares.ok());
  EXPECT_EQ(squares.diag().text, "a symbolic size has too many factors");
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

TEST(DimTest, BoundsOfRemaindersKnowTheirDivisor) {
  const SymbolBounds symbols{{"b", {1, 4}}, {"s", {1, 16}}, {"z", {0, 16}}};
  const auto bounds = [&](const Dim& dim) { return dim.bounds(symbols); };
  const Dim b = d("b"), s = d("s"), z = d("z");
  EXPECT_EQ(bounds(mod(Dim(-1), s)), (Bounds{0, 15}));
  EXPECT_EQ(bounds(s - mod(Dim(-1), s)), (Bounds{1, 16}));
  EXPECT_EQ(bounds(mod(Dim(-1), s) - s), (Bounds{-16, -1}));
  EXPECT_EQ(bounds(b * s - b * mod(Dim(-1), s)), (Bounds{1, 64}));
  EXPECT_EQ(bounds(Dim(3) * s - Dim(2) * mod(Dim(5), s)).min, 3);
  // Of no element none is left.
  EXPECT_EQ(bounds(z - mod(Dim(-1), z)), (Bounds{0, 16}));
  EXPECT_EQ((z - mod(Dim(-1), z)).substitute({{"z", 0}}), Dim(0));
  // Every value lies within.
  for (int64_t n = 1; n <= 16; ++n) {
    const int64_t left = (s - mod(Dim(-3), s)).substitute({{"s", n}}).value();
    EXPECT_GE(left, 1);
    EXPECT_LE(left, 16);
  }
}

TEST(DimTest, BoundsByCasesKnowWhatMinAndMaxAre) {
  const SymbolBounds symbols{{"s", {2, 16}}};
  const Dim last = d("s - min(max(0, s - 2), s)");  // of x[-2:]
  EXPECT_LT(last.bounds(symbols).min, 0);
  EXPECT_EQ(last.bounds_by_cases(symbols).min, 0);
  EXPECT_EQ(d("s + 1").bounds_by_cases(symbols), (Bounds{3, 17}));
}

TEST(DimTest, Lists) {
  EXPECT_EQ(product({d("a"), 3, 4}), d("12*a"));
  EXPECT_EQ(product({}), Dim(1));
  EXPECT_EQ(str(Dims{1, d("a + 1")}), "[1, a + 1]");
  EXPECT_FALSE(all_static({1, d("a")}));
}

}  // namespace
}  // namespace qc
