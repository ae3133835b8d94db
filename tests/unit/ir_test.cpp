#include <gtest/gtest.h>

#include <vector>

#include "interp/interpreter.h"
#include "ir/capability.h"
#include "ir/graph.h"
#include "ir/op_table.h"
#include "ir/text.h"
#include "ops/common/registration.h"

namespace qc {
namespace {

class IrTest : public testing::Test {
 protected:
  void SetUp() override { register_all_ops(); }
  static std::unique_ptr<Graph> graph(std::string_view text) {
    auto parsed = parse(text);
    EXPECT_TRUE(parsed.ok()) << render(parsed.diag());
    return parsed.ok() ? std::move(*parsed) : nullptr;
  }
};

constexpr std::string_view kChain = R"(graph (%0 "x" : f32[n, 2]) {
  %1 = clamp(%0) {lo = 0.0}
  %2 = clamp(%1) {hi = 1.0}
  %3 = reshape(%1) {shape = [#(2*n)]}
  return %2 "y"
}
)";

TEST_F(IrTest, UsesFollowEveryEdit) {
  auto g = graph(kChain);
  Value* a = g->first()->output();
  EXPECT_FALSE(a->has_one_use());
  g->sweep();
  EXPECT_EQ(g->node_count(), 2u);
  EXPECT_TRUE(a->has_one_use());
  g->replace_uses(g->last()->output(), a);
  EXPECT_EQ(g->outputs()[0].value, a);
  EXPECT_EQ(a->pinned(), 1);
  EXPECT_FALSE(a->has_one_use());
  g->sweep();
  EXPECT_EQ(g->node_count(), 1u);
  EXPECT_TRUE(verify(*g).ok());
}

TEST_F(IrTest, BindingReplacesSymbolsEverywhere) {
  auto g = graph(kChain);
  EXPECT_EQ(g->symbols(), std::vector<std::string>{"n"});
  ASSERT_TRUE(g->bind({{"n", 3}}).ok());
  EXPECT_EQ(str(g->last()->output()->type()), "f32[6]");
  EXPECT_TRUE(verify(*g).ok());
}

TEST_F(IrTest, CopyPrintsTheSame) {
  auto g = graph(kChain);
  auto twin = copy(*g);
  ASSERT_TRUE(twin.ok());
  EXPECT_EQ(print(**twin), print(*g));
  EXPECT_TRUE(verify(**twin).ok());
}

TEST_F(IrTest, VerifierFindsWrongOrderAndTypes) {
  auto g = graph(kChain);
  g->move(g->first(), nullptr);
  auto order = verify(*g);
  ASSERT_FALSE(order.ok());
  EXPECT_NE(order.diag().text.find("before it is defined"), std::string::npos);
  auto h = graph(kChain);
  h->set_type(h->last()->output(), Type(DType::f32, {5}));
  EXPECT_FALSE(verify(*h).ok());
}

TEST_F(IrTest, OperandsAreCounted) {
  Graph g;
  Value* x = g.add_input("x", Type(DType::f32, {2}));
  auto none = g.emit("clamp", {}, {}, {});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.diag().code, Code::graph);
  EXPECT_FALSE(g.emit("clamp", {x, x}, {}, {}).ok());
  EXPECT_FALSE(g.emit("clamp", {nullptr}, {}, {}).ok());
  EXPECT_FALSE(g.emit("no_such_op", {x}, {}, {}).ok());
  EXPECT_FALSE(x->has_uses());
}

TEST_F(IrTest, SmallConstantsAreInterned) {
  ConstantPool pool;
  const Tensor t(DType::f32, {3});
  EXPECT_EQ(pool.add(t, "a"), pool.add(t, "a"));
  EXPECT_NE(pool.add(t, "a"), pool.add(t, "b"));
  EXPECT_NE(pool.add(t, "a"), pool.add(Tensor(DType::i32, {3}), "a"));
}

TEST_F(IrTest, RecordedConstantsAreComputedWhenAsked) {
  ConstantPool pool;
  int runs = 0;
  const ConstId id = pool.add_lazy(DType::i8, {1}, "late", [&]() -> Result<Tensor> {
    ++runs;
    return Tensor(DType::i8, {1});
  });
  EXPECT_EQ(runs, 0);
  EXPECT_TRUE(pool.get(id).ok() && pool.get(id).ok());
  EXPECT_EQ(runs, 1);
}

TEST_F(IrTest, ScaledWeightsOfGroups) {
  Graph g;
  // Weight [4, 2, 1] of two groups: rows 0, 1 see input channels 0, 1; rows 2, 3 see 2, 3.
  const std::vector<float> ones(8, 1.0f), scale = {1, 2, 3, 4};
  Value* w = g.constant(Tensor::of<float>(DType::f32, {4, 2, 1}, ones));
  Value* s = g.constant(Tensor::of<float>(DType::f32, {4}, scale));
  auto by_input = g.pool().get(record_scaled(g, w, 1, s, 2)->constant());
  ASSERT_TRUE(by_input.ok());
  EXPECT_EQ(elements_text(*by_input), "[1.0, 2.0, 1.0, 2.0, 3.0, 4.0, 3.0, 4.0]");
  auto by_output = g.pool().get(record_scaled(g, w, 0, s)->constant());
  ASSERT_TRUE(by_output.ok());
  EXPECT_EQ(elements_text(*by_output), "[1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0]");
  auto bias = g.pool().get(record_bias(g, nullptr, s, s)->constant());
  ASSERT_TRUE(bias.ok());
  EXPECT_EQ(elements_text(*bias), "[1.0, 2.0, 3.0, 4.0]");
}

TEST_F(IrTest, PerChannelConstants) {
  Graph g;
  const std::vector<float> two = {1, 2};
  Value* c = g.constant(Tensor::of<float>(DType::f32, {2, 1, 1}, two));
  const Dims shape = {1, 2, 5, 5};
  int64_t axis = -1;
  auto found = per_channel(g, c, shape, axis);
  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_EQ(axis, 1);
  axis = 3;
  EXPECT_FALSE(per_channel(g, c, shape, axis)->has_value());
  axis = 1;
  Value* scalar = g.constant(Tensor::of<float>(DType::f32, {}, std::span(two).first(1)));
  auto all = per_channel(g, scalar, shape, axis);
  ASSERT_TRUE(all.ok() && all->has_value());
  EXPECT_EQ(elements_text(*g.pool().get((**all)->constant())), "[1.0, 1.0]");
}

TEST_F(IrTest, ClampsNarrow) {
  const auto limits = narrow({0, 6}, {-1, 3});
  EXPECT_EQ(limits.lo, 0);
  EXPECT_EQ(limits.hi, 3);
  EXPECT_EQ(narrow({0, 1}, {2, 3}).lo, 2);
  EXPECT_EQ(narrow({0, 1}, {2, 3}).hi, 2);
}

}  // namespace
}  // namespace qc
