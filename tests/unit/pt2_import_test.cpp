// The .pt2 importer without any import row: what it refuses, and how it says so.
#include <gtest/gtest.h>

#include "frontends/pt2/importer.h"
#include "frontends/pt2/inline.h"
#include "frontends/pt2/liveness.h"
#include "frontends/pt2/views.h"

namespace qc::pt2 {
namespace {

TEST(Pt2Import, ListsEveryMissingOpWithCountAndPlace) {
  auto graph = load("tests/models/timm_test_resnet.pt2");
  ASSERT_FALSE(graph.ok());
  const Diag& diag = graph.diag();
  EXPECT_EQ(diag.code, Code::unsupported_op);
  EXPECT_EQ(diag.text, "9 operations are not supported");
  ASSERT_EQ(diag.notes.size(), 9u);
  EXPECT_EQ(diag.notes[0], "aten.adaptive_avg_pool2d.default: 1 node, first 'global_pool.pool'");
  EXPECT_EQ(diag.notes[4], "aten.conv2d.default: 15 nodes, first 'conv1.0'");
}

TEST(Pt2Import, PlainFormsOfInPlaceOps) {
  EXPECT_EQ(functional_name("add_.Tensor"), "add.Tensor");
  EXPECT_EQ(functional_name("relu_.default"), "relu.default");
  EXPECT_EQ(functional_name("__and__.Tensor"), std::nullopt);
  EXPECT_EQ(functional_name("add.Tensor"), std::nullopt);
  EXPECT_EQ(functional_name("_.x"), std::nullopt);
}

Layout layout(std::vector<int64_t> sizes, std::vector<int64_t> strides) {
  return {to_dims(sizes), to_dims(strides), Dim(0)};
}

TEST(Pt2Import, ReshapeIsAViewWhereStridesAllow) {
  Graph model;
  auto view = [&](Layout from, std::vector<int64_t> to) {
    SizeFacts facts(model);
    return can_view(from, to_dims(to), facts);
  };
  EXPECT_TRUE(view(layout({2, 3, 4}, {12, 4, 1}), {6, 4}));
  EXPECT_TRUE(view(layout({2, 3, 4}, {24, 4, 1}), {2, 12}));
  EXPECT_FALSE(view(layout({2, 3, 4}, {24, 4, 1}), {24}));
  EXPECT_FALSE(view(layout({3, 2}, {1, 3}), {6}));
  EXPECT_TRUE(view(layout({3, 2}, {1, 3}), {3, 1, 2}));
}

TEST(Pt2Import, FormatsAreReadOffStrides) {
  Graph model;
  SizeFacts facts(model);
  using F = MemoryFormat;
  const Layout rows = layout({2, 3, 4, 5}, {60, 20, 5, 1});
  const Layout last = layout({2, 3, 4, 5}, {60, 1, 15, 3});
  EXPECT_TRUE(is_contiguous(rows, F::contiguous, facts));
  EXPECT_FALSE(is_contiguous(rows, F::channels_last, facts));
  EXPECT_TRUE(is_contiguous(last, F::channels_last, facts));
  EXPECT_EQ(suggested_format(rows, facts), F::contiguous);
  EXPECT_EQ(suggested_format(last, facts), F::channels_last);
  EXPECT_EQ(suggested_format(layout({3, 1, 1, 1}, {1, 1, 1, 1}), facts), F::contiguous);
  EXPECT_EQ(*dense_order(last), (std::vector<int64_t>{0, 2, 3, 1}));
  EXPECT_FALSE(dense_order(layout({2, 3}, {4, 1})));
  EXPECT_TRUE(never_overlaps(layout({2, 3}, {1, 4}), model));
  EXPECT_FALSE(never_overlaps(layout({3, 2}, {1, 2}), model));
  EXPECT_FALSE(never_overlaps(layout({3, 2}, {0, 1}), model));
}

TEST(Pt2Import, SymbolicSizesAreProvenOrTakenFromTheExample) {
  Graph model;
  model.dim_ranges["a"].min = 2;
  model.dim_ranges["b"] = {0, 100, 5};
  const Dim a = Dim::symbol("a"), b = Dim::symbol("b"), u = Dim::symbol("u");
  SizeFacts facts(model);
  EXPECT_FALSE(facts.equal(a, Dim(1)));
  EXPECT_FALSE(facts.equal(a * a, a));
  EXPECT_TRUE(facts.less(Dim(1), a * (b + Dim(1))));
  EXPECT_TRUE(facts.assumed().empty());
  EXPECT_FALSE(facts.equal(b, Dim(1)));
  ASSERT_EQ(facts.assumed().size(), 1u);
  EXPECT_EQ(facts.assumed()[0].str(), "b != 1");
  EXPECT_TRUE(facts.decided());
  EXPECT_FALSE(facts.equal(u, Dim(1)));
  EXPECT_FALSE(facts.decided());
}

ExportedNode node(std::string target, std::vector<std::string> inputs, std::string output) {
  ExportedNode n;
  n.target = std::move(target);
  for (const std::string& name : inputs) {
    n.inputs.push_back({"", Argument{ArgKind::tensor, {{Item::Kind::name, name, 0, 0}}, {}, {}}});
  }
  n.outputs.push_back(Argument{ArgKind::tensor, {{Item::Kind::name, output, 0, 0}}, {}, {}});
  return n;
}

TEST(Pt2Import, WritesThroughViewsAreLiveAndDeadNodesAreNot) {
  FlatGraph g;
  g.nodes.push_back({node("torch.ops.aten.rand.default", {}, "r"), 0});
  g.nodes.push_back({node("torch.ops.aten.clone.default", {"x"}, "c"), 0});
  g.nodes.push_back({node("torch.ops.aten.select.int", {"c"}, "s"), 0});
  g.nodes.push_back({node("torch.ops.aten.fill_.Scalar", {"s"}, "f"), 0});
  g.nodes.push_back({node("torch.ops.aten.add_.Tensor", {"r"}, "unused"), 0});
  Liveness live(g, {"c"}, {"x"});
  EXPECT_FALSE(live.live(0));
  EXPECT_TRUE(live.live(1));
  EXPECT_TRUE(live.live(2));
  EXPECT_TRUE(live.live(3));
  EXPECT_FALSE(live.live(4));
  EXPECT_TRUE(live.written("c"));
  EXPECT_TRUE(live.written("x"));  // no row says that a clone is memory of its own
}

TEST(Pt2Import, WrapperBodiesAreInlinedWithTheirOwnNames) {
  ExportedGraph body;
  auto name = [](const char* n) {
    return Argument{ArgKind::tensor, {{Item::Kind::name, n, 0, 0}}, {}, {}};
  };
  body.inputs = {name("x")};
  body.nodes.push_back(node("torch.ops.aten.relu.default", {"x"}, "y"));
  body.outputs = {name("y")};
  ExportedGraph top;
  top.nodes.push_back(node("torch.ops.aten.neg.default", {"a"}, "y"));
  ExportedNode hop = node("torch.ops.higher_order.wrap_with_set_grad_enabled", {}, "z");
  hop.inputs.push_back({"", Argument{ArgKind::boolean, {{}}, {}, {}}});
  hop.inputs.push_back({"", Argument{ArgKind::graph,
                                     {{Item::Kind::name, "submod", 0, 0}},
                                     std::make_shared<const ExportedGraph>(body),
                                     {}}});
  hop.inputs.push_back({"", name("y")});
  top.nodes.push_back(hop);
  top.nodes.push_back(node("torch.ops.aten.add.Tensor", {"y", "z"}, "sum"));
  top.outputs = {name("sum")};
  auto flat = flatten(top, {});
  ASSERT_TRUE(flat.ok()) << render(flat.diag());
  ASSERT_EQ(flat->nodes.size(), 3u);
  EXPECT_EQ(flat->nodes[1].node.inputs[0].arg.items[0].text, "y");
  EXPECT_EQ(flat->nodes[1].node.outputs[0].items[0].text, "1/y");
  EXPECT_EQ(flat->nodes[2].node.inputs[0].arg.items[0].text, "y");
  EXPECT_EQ(flat->nodes[2].node.inputs[1].arg.items[0].text, "1/y");
}

}  // namespace
}  // namespace qc::pt2
