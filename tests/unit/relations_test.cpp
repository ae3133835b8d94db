// Relations of free sizes: what ranges prove, what runs check, and that no kernel reads outside its
// operands at sizes for which a relation does not hold.
#include "ir/relations.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/text.h"
#include "program/bind.h"
#include "program/plan.h"
#include "tests/unit/op_harness.h"

namespace qc {
namespace {

const Dim kN = Dim::symbol("n"), kM = Dim::symbol("m");
const SymbolBounds kSymbols{{"n", {1, 8}}, {"m", {4, 9}}};

std::vector<std::string> noted(const std::function<void()>& state) {
  std::vector<DimGuard> relations;
  {
    const NotedRelations collected(relations);
    state();
  }
  std::vector<std::string> out;
  for (const DimGuard& r : relations) out.push_back(r.str());
  return out;
}

TEST(Relations, WhatIsNotKnownIsNoted) {
  EXPECT_EQ(noted([] {
              EXPECT_FALSE(differ(kN, kN));
              EXPECT_TRUE(differ(3, 4));
              EXPECT_FALSE(differ(kN, 4));
              EXPECT_TRUE(exceeds(kN + 1, kN));
              EXPECT_FALSE(exceeds(kN, kN));
              EXPECT_FALSE(exceeds(kN, kM));
            }),
            (std::vector<std::string>{"n == 4", "n <= m"}));
  EXPECT_FALSE(differ(kN, 4));  // nobody asks
}

TEST(Relations, RangesProveSome) {
  const auto known = [](std::string_view text) { return proved(*DimGuard::parse(text), kSymbols); };
  EXPECT_EQ(known("n <= 8"), true);
  EXPECT_EQ(known("n <= 7"), std::nullopt);
  EXPECT_EQ(known("n + 1 <= m"), std::nullopt);
  EXPECT_EQ(known("n == m + 5"), false);
  EXPECT_EQ(known("max(0, n) == n"), true);
  EXPECT_EQ(known("min(n, 20) + 1 <= n + 1"), true);
  EXPECT_EQ(known("n != 0"), true);
  EXPECT_EQ(known("n < m"), std::nullopt);
  EXPECT_EQ(known("n > 8"), false);
  EXPECT_EQ(known("m >= 4"), true);
}

struct Case {
  const char* text;    // a graph of sizes n (1 to 8) and m (4 to 9)
  const char* guards;  // of its program, joined by ", "; "!" and a part of the error otherwise
};

class GuardedGraph : public ::testing::TestWithParam<Case> {};

TEST_P(GuardedGraph, RunsAtSizesThatFitAndAtNoOther) {
  register_all_ops();
  const std::string text = GetParam().text, wanted = GetParam().guards;
  const auto graph = parse(text.substr(0, text.find('{') + 1) +
                           " dim \"n\" = 1..8 dim \"m\" = 4..9" + text.substr(text.find('{') + 1));
  ASSERT_TRUE(graph.ok()) << render(graph.diag());
  auto program = lower(**graph);
  if (wanted.starts_with("!")) {
    ASSERT_FALSE(program.ok());
    EXPECT_NE(render(program.diag()).find(wanted.substr(1)), std::string::npos)
        << render(program.diag());
    return;
  }
  ASSERT_TRUE(program.ok()) << render(program.diag());
  std::vector<std::string> guards;
  for (const DimGuard& g : program->guards) guards.push_back(g.str());
  EXPECT_EQ(fmt::format("{}", fmt::join(guards, ", ")), wanted);
  int ran = 0, refused = 0;
  for (int64_t n = 1; n <= 8; ++n) {
    for (int64_t m = 4; m <= 9; ++m) {
      const Bindings sizes{{"n", n}, {"m", m}};
      std::vector<Tensor> inputs;
      std::vector<std::vector<int64_t>> shapes;
      for (const Value* v : (*graph)->inputs()) {
        Dims shape = v->shape();
        for (Dim& d : shape) d = d.substitute(sizes);
        shapes.push_back(static_dims(shape));
        inputs.push_back(random_tensor(v->type().dtype, shapes.back(), 1));
      }
      const bool fits = check_sizes(*program, sizes).ok();
      ++(fits ? ran : refused);
      auto twin = copy(**graph);
      ASSERT_TRUE(twin.ok());
      ASSERT_EQ(fits, (*twin)->bind(sizes).ok()) << "n = " << n << ", m = " << m;
      if (!fits) continue;
      const auto expected = interpret(**twin, inputs);
      ASSERT_TRUE(expected.ok()) << render(expected.diag());
      Program there = bound(*program, sizes);
      PackedConstants constants;
      ASSERT_TRUE(select_kernels(there, *find_target("portable"), constants).ok());
      const auto got = run_program(there, inputs);
      ASSERT_TRUE(got.ok()) << render(got.diag());
      EXPECT_TRUE(got->outputs[0].identical(expected->outputs[0])) << "n = " << n << ", m = " << m;
    }
  }
  EXPECT_GT(ran, 0);
  EXPECT_EQ(refused > 0, !wanted.empty());
}

constexpr Case kCases[] = {
    {"graph (%0 \"x\" : f32[m]) { %1 = slice(%0) {start = [#(n)], size = [2], step = [2]} return "
     "%1 }",
     "!no input says how large 'n' is"},
    {"graph (%0 \"x\" : f32[n]) { %1 = reshape(%0) {shape = [8]} return %1 }", "n == 8"},
    {"graph (%0 \"x\" : f32[n]) { %1 = reshape(%0) {shape = [9]} return %1 }",
     "!n == 9, which no size in the ranges has"},
    {"graph (%0 \"x\" : f32[n, 3]) { %1 = reshape(%0) {shape = [#(floordiv(3*n, 2)), 2]} return %1 "
     "}",
     "3*n == 2*floordiv(3*n, 2)"},
    {"graph (%0 \"x\" : f32[3, n], %1 \"y\" : f32[m, 5]) { %2 = matmul(%0, %1) return %2 }",
     "n == m"},
    {"graph (%0 \"x\" : f32[m], %9 \"y\" : f32[n]) { %1 = slice(%0) {start = [1], size = [#(n)], "
     "step = [1]} return %1 }",
     "n + 1 <= m"},
    {"graph (%0 \"x\" : f32[m]) { %1 = slice(%0) {start = [#(m - 1)], size = [4], step = [-1]} "
     "return "
     "%1 }",
     ""},
    {"graph (%0 \"x\" : f32[m], %9 \"y\" : f32[n]) { %1 = slice(%0) {start = [#(n)], size = [2], "
     "step = [2]} return %1 }",
     "n + 3 <= m"},
    {"graph (%0 \"x\" : f32[m, 3], %9 \"y\" : f32[n]) { %1 = as_strided(%0) {size = [#(n), 2], "
     "stride = [3, 1]} return "
     "%1 }",
     "3*n - 1 <= 3*m"},
    {"graph (%0 \"x\" : f32[m, 3], %1 \"i\" : i64[n, 3]) { %2 = gather_elements(%0, %1) {axis = 1} "
     "return %2 }",
     "n <= m"},
    {"graph (%0 \"x\" : f32[n, 3, 2], %1 \"i\" : i64[m, 1]) { %2 = gather_nd(%0, %1) {batch_dims = "
     "1} return %2 }",
     "n == m"},
    {"graph (%0 \"x\" : f32[m, 3], %1 \"i\" : i64[n, 3], %2 \"u\" : f32[2, 3]) { %3 = "
     "scatter_elements(%0, %1, %2) {axis = 0} return %3 }",
     "2 == n"},
    {"graph (%0 \"x\" : f32[m, 3], %1 \"i\" : i64[n, 1], %2 \"u\" : f32[m, 3]) { %3 = "
     "scatter_nd(%0, %1, %2) return %3 }",
     "n == m"},
    {"graph (%0 \"x\" : f32[m, 3], %1 \"y\" : f32[n, 3]) { %2 = slice_scatter(%0, %1) {start = [0, "
     "0], step = [1, 1]} return %2 }",
     "n <= m"},
    {"graph (%0 \"x\" : f32[m, 3], %1 \"y\" : f32[n]) { %2 = as_strided_scatter(%0, %1) {stride = "
     "[4]} return %2 }",
     "4*n - 3 <= 3*m"},
    {"graph (%0 \"x\" : f32[2, n], %1 \"y\" : f32[2, m]) { %2 = concat(%0, %1) {axis = 0} return "
     "%2 }",
     "m == n"},
    {"graph (%0 \"x\" : f32[m, 3], %9 \"y\" : f32[n]) { %1, %2 = sort(%0) {axis = 0, k = #(n)} "
     "return %1 }",
     "n <= m"},
    {"graph (%0 \"x\" : f32[2, n], %1 \"g\" : f32[m]) { %2 = rms_norm(%0, %1) return %2 }",
     "m == n"},
    {"graph (%0 \"x\" : f32[2, m]) { %1 = group_norm(%0) {groups = 2} return %1 }",
     "mod(m, 2) == 0"},
    {"graph (%0 \"x\" : f32[2, n, 2], %1 \"s\" : f32[m], %2 \"b\" : f32[m]) { %3 = scale_shift(%0, "
     "%1, %2) return %3 }",
     "m == n"},
    {"graph (%0 \"x\" : i16[3, n]) { %1 = bit_view(%0) {to = i32} return %1 }", "mod(2*n, 4) == 0"},
    {"graph (%0 \"x\" : f32[2], %8 \"y\" : f32[n], %9 \"z\" : f32[m]) { %1 = pad(%0) {before = "
     "[#(m - n)], after = [0]} return %1 }",
     "!negative for some sizes"},
    {"graph (%0 \"x\" : f32[9], %8 \"y\" : f32[n], %9 \"z\" : f32[m]) { %1 = pad(%0) {before = "
     "[#(m - n)], after = [0]} return %1 }",
     "0 <= m - n"},
};

INSTANTIATE_TEST_SUITE_P(Graphs, GuardedGraph, ::testing::ValuesIn(kCases));

/// Places of the smallest plan are symbols too, which no dimension may share.
TEST(ArenaSymbols, AreNamedApartFromDimensions) {
  register_all_ops();
  const auto graph = parse(
      "graph (%0 \"x\" : f32[at0, 40]) { dim \"at0\" = 1..8 "
      "%1 = exp(%0) %2 = transpose(%1) {perm = [1, 0]} %3 = softmax(%2) {axis = 1} "
      "%4 = add(%3, %2) %5 = exp(%4) %6 = softmax(%5) {axis = 0} return %6 }");
  ASSERT_TRUE(graph.ok()) << render(graph.diag());
  auto program = lower(**graph);
  ASSERT_TRUE(program.ok()) << render(program.diag());
  plan(*program, {.smallest = true});
  ASSERT_FALSE(program->arena_symbols.empty());
  for (const ArenaSymbol& position : program->arena_symbols) EXPECT_NE(position.symbol, "at0");
}

}  // namespace
}  // namespace qc
