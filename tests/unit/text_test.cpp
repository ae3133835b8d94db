#include "ir/text.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/common/registration.h"

namespace qc {
namespace {

class TextTest : public testing::Test {
 protected:
  void SetUp() override { register_all_ops(); }

  /// Printing what was parsed gives the text back.
  static void same(std::string_view text, const ConstantPool* side = nullptr) {
    auto graph = parse(text, {.file = {}, .side = side});
    ASSERT_TRUE(graph.ok()) << render(graph.diag());
    EXPECT_EQ(print(**graph), text);
    auto checked = verify(**graph);
    EXPECT_TRUE(checked.ok()) << render(checked.diag());
  }
  static std::string failure(std::string_view text) {
    auto graph = parse(text);
    if (graph.ok()) return "parsed";
    EXPECT_EQ(graph.diag().code == Code::bug, false);
    return graph.diag().text;
  }
};

TEST_F(TextTest, PrintsWhatItParses) {
  same(R"(graph "net" (%0 "x" : f32[1, 3], %1 "y" : i8[2]) {
  %2 : f32[1, 3] = clamp(%0) {lo = 0.0, hi = 6.0}  loc("fc1", "act\"1")
  %3 : f32[3] = reshape(%2) {shape = [3]}
  %4 : i8[2] = clamp(%1)
  return %3 "logits", %4, %0
}
)");
}

TEST_F(TextTest, SymbolicDimsAndRanges) {
  same(R"(graph (%0 "x" : f32[batch, 2*s0 + 1]) {
  dim "batch" = 1..64 hint 2
  dim "s0" = 0..
  guard "mod(batch, 2) == 0"
  %1 : f32[batch + 2*batch*s0] = reshape(%0) {shape = [#(batch + 2*batch*s0)]}
  %2 : f32[1, batch + 2*batch*s0] = reshape(%1) {shape = [1, #(batch + 2*batch*s0)]}
  return %2
}
)");
}

TEST_F(TextTest, DotProductsOfTheGraphAndItsRegions) {
  const std::string_view text = R"(graph (%0 "c" : bool[], %1 "x" : f32[2]) {
  dot mul_add
  %2 : f32[2] = if(%0, %1) regions {
    graph (%0 "x" : f32[2]) {
      return %0 "y"
    }
    graph (%0 "x" : f32[2]) {
      return %0 "y"
    }
  }
  return %2 "y"
}
)";
  same(text);
  auto graph = parse(text);
  ASSERT_TRUE(graph.ok()) << render(graph.diag());
  const Graph& region = *(*graph)->first()->regions()[0];
  EXPECT_EQ(region.dot, DotStep::mul_add);
  (*graph)->first()->regions()[0]->dot = DotStep::fma;
  const auto checked = verify(**graph);
  EXPECT_NE(checked.diag().text.find("a region sums dot products by fma"), std::string::npos);
  EXPECT_EQ(failure("graph () {\n  dot mul\n  return\n}\n"),
            "line 2: dot is fma or mul_add, not 'mul'");
}

TEST_F(TextTest, ConstantsOfEveryKind) {
  same(R"(@w1 : f32[2, 2] = [1.0, 0.1, -0.0, 3.4028235e+38]
@0 : f16[3] = [0.5, nan, -inf]
@"two words" : i64[] = [-9223372036854775808]
@1 : u64[1] = [18446744073709551615]
@mask : bool[2] = [true, false]
@mask~1 : bool[2] = [false, false]
@same : f32[1] = [2.0]
@same~1 : f32[1] = [2.0]
@empty : i4[0] = []
graph () {
  %0 : f32[4] = reshape(@w1) {shape = [4]}
  return %0, @0, @"two words", @1, @mask, @mask~1, @same, @same~1, @empty
}
)");
}

TEST_F(TextTest, StatesAndLayouts) {
  same(R"(@zero : f32[1, 2, 1, 1] = [0.0, 0.0]
graph (%0 "x" : f32[1, 2, 4, 4] nhwc) {
  state %1 "cache" : f32[1, 2, 1, 1] = @zero
  %2 : f32[1, 2, 4, 4] nhwc = clamp(%0) {lo = 0.0}
  %3 : f32[1, 2, 1, 1] = clamp(%1) {hi = 1e-07}
  next %1 = %3
  return %2 "y"
}
)");
}

TEST_F(TextTest, QuantizedTypes) {
  same(R"(@w : i8[2] q(-127, 127, axis=0, scale=[0.5, 0.25]) = [1, -2]
@w~1 : i8[2] = [1, -2]
graph (%0 "x" : i8[1, 2] q(-128, 127, axis=1, scale=[0.5, 0.25], zero=[0, 3]), %1 "s" : f32[]) {
  %2 : i8[2, 1] q(-128, 127, axis=0, scale=[0.5, 0.25], zero=[0, 3]) = transpose(%0) {perm = [1, 0]}
  %3 : f32[2] = dequantize(@w)
  %4 : i8[2] q(-8, 7, scale=f64 0.1) = quantize(%3) {to = i8 q(-8, 7, scale=f64 0.1)}
  %5, %6, %7 : i8[2] q(-127, 127, scale=dynamic, zero=dynamic), f32[], i32[] = quantize_dynamic(%3) {to = i8, symmetric = true}
  %8 : f32[2] = dequantize(%5, %6, %7)
  return %2, %4, %8, @w~1
}
)");
}

TEST_F(TextTest, LargeConstantsAreLookedUpByContent) {
  Graph g;
  Tensor big(DType::f32, {100});
  big.mutable_data<float>()[7] = 3;
  g.add_output("w", g.constant(big, "w"));
  const std::string text = print(g);
  EXPECT_NE(text.find("@w : f32[100] = #"), std::string::npos) << text;
  same(text, &g.pool());
  EXPECT_NE(failure(text).find("are not at hand"), std::string::npos);
}

TEST_F(TextTest, AllConstantsInTheText) {
  // A NaN with a payload has no digits that read back; large constants are bytes anyway.
  Graph graph;
  std::vector<float> large(100);
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<float>(i) * 0.1f;
  Tensor odd(DType::f32, {2});
  odd.mutable_data<uint32_t>()[0] = 0x7fc00123;
  graph.add_output("a", graph.constant(Tensor::of<float>(DType::f32, {100}, large), "large"));
  graph.add_output("b", graph.constant(odd, "odd"));
  const PrintOptions all{.all_constants = true};
  const std::string text = print(graph, all);
  EXPECT_NE(text.find("@odd : f32[2] = hex \"2301c07f00000000\""), std::string::npos) << text;
  auto again = parse(text);
  ASSERT_TRUE(again.ok()) << render(again.diag());
  EXPECT_EQ(print(**again, all), text);
  EXPECT_EQ(failure(print(graph)).substr(0, 33), "line 1: the contents of constant ");
}

TEST_F(TextTest, BytesInTheTextAreChecked) {
  EXPECT_EQ(failure("@a : i8[2] = hex \"01\"\n"),
            "line 1: expected byte 1 of 2 in two hexadecimal digits, found '\"'");
  EXPECT_EQ(failure("@a : i8[1] = hex \"0g\"\n"),
            "line 1: expected byte 0 of 1 in two hexadecimal digits, found '0g'");
  EXPECT_EQ(failure("@a : i8[1] = hex \"0102\"\n"),
            "line 1: expected '\"' after 1 bytes, found '02'");
  EXPECT_EQ(failure("@a : bool[1] = hex \"02\"\n"), "line 1: byte 0 is no bool");
  EXPECT_EQ(failure("@a : i4[1] = hex \"08\"\n"), "line 1: byte 0 is no i4");
  EXPECT_EQ(failure("@a : i8[999999999] = hex \"02\"\n"), "line 1: expected 999999999 bytes");
}

TEST_F(TextTest, SpacingCommentsAndTypesAreFree) {
  auto graph = parse("graph(%x:f32[2]){ // double\n %y=clamp(%x){lo=0} return %y \"y\"}");
  ASSERT_TRUE(graph.ok()) << render(graph.diag());
  EXPECT_EQ(
      print(**graph),
      "graph (%0 \"\" : f32[2]) {\n  %1 : f32[2] = clamp(%0) {lo = 0.0}\n  return %1 \"y\"\n}\n");
}

TEST_F(TextTest, ErrorsNameTheLine) {
  EXPECT_EQ(failure("graph (%0 : f32[2]) {\n  %1 = clam(%0)\n}"), "line 2: there is no op 'clam'");
  EXPECT_EQ(failure("graph (%0 : f32[2]) {\n\n  %1 = clamp(%2)\n}"),
            "line 3: there is no value %2 here");
  EXPECT_EQ(failure("graph (%0 : f32[2]) { %0 = clamp(%0) return %0 }"),
            "line 1: %0 is defined twice");
  EXPECT_EQ(failure("graph (%0 : f99[2])"), "line 1: expected an element type, found 'f99'");
  EXPECT_EQ(failure("graph (%0 : f32[-2])"), "line 1: a dimension is negative");
  EXPECT_EQ(failure("graph () { return } x"), "line 1: expected the end, found 'x'");
  EXPECT_EQ(failure("@a : i8[2] = [1, 300]\n"), "line 1: 300 does not fit i8");
  EXPECT_EQ(failure("@a : i8[2] = [1]\n"), "line 1: expected ',', found ']'");
  EXPECT_EQ(failure("@a : i8[9999] = [1]\n"), "line 1: expected 9999 elements");
  EXPECT_EQ(failure("graph (%0 : f32[2]) { %1 : f32[3] = clamp(%0) return %1 }"),
            "line 1: result 0 of clamp is f32[2], not f32[3]");
  EXPECT_EQ(failure("graph (%0 : f32[2]) { %1 = reshape(%0) {shape = [3]} return %1 }"),
            "line 1: cannot reshape [2] to [3]");
  EXPECT_EQ(failure("graph (%0 : f32[9223372036854775807, 9]) { return %0 }"),
            "line 1: a tensor of this shape is larger than 2^40 bytes");
  EXPECT_EQ(failure("graph (%0 : f32[2]) { %1 = clamp(%0) {low = 1.0} return %1 }"),
            "line 1: clamp has no attribute 'low'");
  EXPECT_EQ(failure("graph (%0 : f32[2]) { return %0 \"a"), "line 1: a string does not end");
}

TEST_F(TextTest, EveryPrefixGivesADiagnostic) {
  const std::string text = R"(@w : f32[2] = [1.0, nan]
graph "g" (%0 "x" : f32[b, 2]) {
  dim "b" = 1..4
  %1 : f32[b, 2] = clamp(%0) {lo = -inf}  loc("a")
  return %1 "y", @w
}
)";
  for (size_t n = 0; n + 2 < text.size(); ++n) EXPECT_NE(failure(text.substr(0, n)), "parsed") << n;
}

}  // namespace
}  // namespace qc
