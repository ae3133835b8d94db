#include "backends/common/size_table.h"

#include <gtest/gtest.h>

#include "program/bind.h"

namespace qc {
namespace {

const Dim kS = Dim::symbol("s"), kT = Dim::symbol("t");

TEST(SizeTable, NumbersAreThemselvesAndExpressionsStandOnceInTheTable) {
  Program program;
  program.dims = {{"s", 1, 8, 1}, {"t", 1, 4, 1}};
  SizeTable sizes(program);
  EXPECT_EQ(sizes(Dim(7)), "7");
  EXPECT_EQ(sizes(kS * kT), "n[0]");
  EXPECT_EQ(sizes(kS + Dim(1)), "n[1]");
  EXPECT_EQ(sizes(kT * kS), "n[0]");
  EXPECT_EQ(sizes.entries(), 2u);
  EXPECT_EQ(sizes.definition("fill"),
            "static void fill(const int64_t *dims, int64_t *n) {\n"
            "  n[0] = dims[0] * dims[1];\n"
            "  n[1] = dims[0] + 1;\n}\n\n");
  EXPECT_EQ(sizes.expression(floordiv(kS - Dim(3), Dim(2)) * Dim(-4)),
            "-4 * qc_floordiv(dims[0] + -3, 2)");
}

TEST(SizeTable, PlacesComeFirstAndAreNamedByWhatLiesAbove) {
  Program program;
  program.dims = {{"s", 1, 8, 1}};
  program.arena_symbols = {{"at0", kS * Dim(64)}, {"at1", Dim::symbol("at0") + Dim(128)}};
  SizeTable sizes(program);
  EXPECT_EQ(sizes(Dim::symbol("at1")), "n[1]");
  EXPECT_EQ(sizes(Dim::symbol("at1") + Dim(4)), "n[2]");
  EXPECT_EQ(sizes.definition("fill"),
            "static void fill(const int64_t *dims, int64_t *n) {\n"
            "  n[0] = 64 * dims[0];\n  n[1] = n[0] + 128;\n  n[2] = n[1] + 4;\n}\n\n");
  EXPECT_EQ(program.with_arena_symbols({{"s", 2}}).at("at1"), 256);
  EXPECT_EQ(program.largest(Dim::symbol("at1")), 640);
}

TEST(Bounds, ContainEveryValueAndMeetItAtTheCorners) {
  const SymbolBounds symbols{{"s", {1, 9}}, {"t", {2, 5}}};
  const Dim dims[] = {kS * kT + Dim(3),
                      kS - kT,
                      Dim(20) - kS * Dim(2),
                      floordiv(kS + Dim(3), Dim(2)),
                      mod(kS, Dim(4)),
                      min(kS, kT),
                      max(kS, Dim(6)),
                      floordiv(kS * Dim(7), kT),
                      (kS - Dim(5)) * (kT - Dim(3))};
  for (const Dim& d : dims) {
    const Bounds b = d.bounds(symbols);
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (int64_t s = 1; s <= 9; ++s) {
      for (int64_t t = 2; t <= 5; ++t) {
        const int64_t value = d.substitute({{"s", s}, {"t", t}}).value();
        least = std::min(least, value);
        most = std::max(most, value);
      }
    }
    EXPECT_LE(b.min, least) << d.str();
    EXPECT_GE(b.max, most) << d.str();
  }
  EXPECT_EQ((kS * kT + Dim(3)).bounds(symbols), (Bounds{5, 48}));
  EXPECT_EQ(Dim::symbol("other").bounds(symbols).max, INT64_MAX);
}

Program doubled() {
  Program p;
  p.pool = std::make_shared<ConstantPool>();
  p.dims = {{"s", 2, 8, 2}};
  p.buffers = {{.name = "x", .kind = BufferKind::input, .bytes = kS * Dim(4), .slot = 0}};
  p.inputs = {{"x", Type(DType::f32, {kS}), 0}};
  return p;
}

TEST(Sizes, AreTakenFromInputsAndChecked) {
  const Program p = doubled();
  const auto sizes = sizes_of(p, {{4}});
  ASSERT_TRUE(sizes.ok());
  EXPECT_EQ(bound(p, *sizes).buffers[0].bytes, Dim(16));
  const auto why = [&](const std::vector<std::vector<int64_t>>& shapes) {
    const auto found = sizes_of(p, shapes);
    return found.ok() ? std::string() : found.diag().text;
  };
  EXPECT_EQ(why({{3}}), "dimension 's' is 3, the program takes 2 to 8 in steps of 2");
  EXPECT_EQ(why({{10}}), "dimension 's' is 10, the program takes 2 to 8 in steps of 2");
  EXPECT_EQ(why({{2, 2}}), "input 'x' has shape [s], got [2, 2]");
  EXPECT_EQ(why({}), "the program takes 1 input, got 0");
}

TEST(Sizes, AreFoundFromAxesThatGrowEvenlyWithThem) {
  Program p = doubled();
  p.dims = {{"s", 1, 8, 1}, {"t", 1, 8, 1}};
  p.inputs = {{"x", Type(DType::f32, {kS + Dim(4), kS * Dim(2) + kT}), 0}};
  const auto sizes = sizes_of(p, {{7, 11}});
  ASSERT_TRUE(sizes.ok()) << render(sizes.diag());
  EXPECT_EQ(*sizes, (Bindings{{"s", 3}, {"t", 5}}));
  EXPECT_FALSE(sizes_of(p, {{4, 11}}).ok());  // s would be 0
  EXPECT_FALSE(sizes_of(p, {{7, 6}}).ok());   // and t
  p.inputs = {{"x", Type(DType::f32, {floordiv(kS, Dim(2)), kS + kT}), 0}};
  EXPECT_EQ(sizes_of(p, {{2, 7}}).diag().text,
            "input 'x' has shape [floordiv(s, 2), s + t], got [2, 7]");
}

}  // namespace
}  // namespace qc
