// Tables that are stored for the largest size have the bits of every size, interpreted and as a
// program, which then has no arena for them.
#include "passes/store_tables.h"

#include <gtest/gtest.h>

#include "driver/compile.h"
#include "interp/interpreter.h"
#include "ir/text.h"
#include "ops/common/registration.h"
#include "program/bind.h"
#include "program/run.h"
#include "tests/ops/cases.h"

namespace qc {
namespace {

constexpr int64_t kLow = 1, kHigh = 24;

struct Body {
  const char* name;
  size_t stored;
  const char* text;
};

constexpr Body kBodies[] = {
    // Cosines of positions at given frequencies, which are stored; positions that count up to the
    // end, which no two sizes share; and positions after another number, of which padding says
    // nothing.
    {"positions", 1, R"(
@freq : f32[4] = [1.0, 0.5, 0.25, 0.125]
@minus : i64[1] = [-1]
graph (%0 "x" : f32[2, s, 4], %1 "y" : f32[s, 1]) {
  dim "s" = 1..24
  %2 = iota() {size = #(s)}
  %3 = cast(%2) {to = f32}
  %4 = reshape(%3) {shape = [1, #(s), 1]}
  %5 = mul(%4, @freq)
  %6 = cos(%5)
  %7 = mul(%0, %6)
  %8 = iota() {start = #(1 - s), size = #(s)}
  %9 = cast(%8) {to = f32}
  %10 = reshape(%9) {shape = [#(s), 1]}
  %11 = mul(%1, %10)
  %12 = concat(@minus, %2) {axis = 0}
  %13 = cast(%12) {to = f32}
  %14 = sin(%13)
  return %7, %11, %14
})"},
    // Distances times a slope for each head, added to scores: attention reads rows of the table
    // where they are, floats and codes alike.
    {"distances", 1, R"(
@slopes : f32[1, 2, 1, 1] = [-0.5, -0.25]
graph (%0 "x" : f32[2, 2, s, 4], %1 "y" : i8[2, 2, s, 4] q(-128, 127, scale=0.02)) {
  dim "s" = 1..24
  %2 = iota() {size = #(s)}
  %3 = reshape(%2) {shape = [#(s), 1]}
  %4 = sub(%2, %3)
  %5 = abs(%4)
  %6 = cast(%5) {to = f32}
  %7 = mul(%6, @slopes)
  %8 = attention(%0, %0, %0, %7)
  %9 = qattention(%1, %1, %1, %7) {to = f32}
  return %8, %9
})"}};

Options ranged(bool stored) {
  Options options;
  options.target = "portable";
  options.verify = true;
  options.ranges["s"] = {kLow, kHigh, 1, {}, 0, {}, false};
  if (!stored) options.disabled_passes = {"store_tables"};
  return options;
}

Result<std::vector<Tensor>> inputs_of(const Graph& graph, const Bindings& sizes) {
  std::vector<Tensor> out;
  for (const Value* v : graph.inputs()) {
    Ints shape;
    for (const Dim& d : v->shape()) shape.push_back(d.substitute(sizes).value());
    out.push_back(testing::random_tensor(v->dtype(), shape, out.size() + 1));
  }
  return out;
}

class StoreTables : public ::testing::TestWithParam<Body> {};

TEST_P(StoreTables, EverySizeHasItsBits) {
  register_all_ops();
  auto graph = parse(GetParam().text);
  ASSERT_TRUE(graph.ok()) << render(graph.diag());
  auto with = copy(**graph), without = copy(**graph), rewritten = copy(**graph);
  PassContext context;
  ASSERT_TRUE(store_tables(**rewritten, context).ok());
  ASSERT_TRUE(verify(**rewritten).ok());
  EXPECT_EQ(context.remarks.size(), GetParam().stored) << print(**rewritten);
  auto stored = make_program(**with, ranged(true));
  ASSERT_TRUE(stored.ok()) << render(stored.diag());
  auto computed = make_program(**without, ranged(false));
  ASSERT_TRUE(computed.ok()) << render(computed.diag());
  EXPECT_LT(stored->arena_bytes, computed->arena_bytes);
  for (int64_t s = kLow; s <= kHigh; ++s) {
    auto inputs = inputs_of(**graph, {{"s", s}});
    auto expected = interpret(**graph, *inputs);
    ASSERT_TRUE(expected.ok()) << render(expected.diag());
    auto interpreted = interpret(**rewritten, *inputs);
    ASSERT_TRUE(interpreted.ok()) << render(interpreted.diag());
    std::vector<std::vector<Tensor>> got{interpreted->outputs};
    for (const Program* program : {&*stored, &*computed}) {
      auto run = run_program(bound(*program, {{"s", s}}), *inputs);
      ASSERT_TRUE(run.ok()) << render(run.diag());
      got.push_back(run->outputs);
    }
    for (const auto& outputs : got) {
      ASSERT_EQ(outputs.size(), expected->outputs.size());
      for (size_t i = 0; i < outputs.size(); ++i)
        EXPECT_TRUE(outputs[i].identical(expected->outputs[i])) << "output " << i << " at " << s;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, StoreTables, ::testing::ValuesIn(kBodies),
                         [](const auto& body) { return std::string(body.param.name); });

}  // namespace
}  // namespace qc
