// Epilogues: a product that adds its residual itself gives the bits of the two steps.
#include "program/fuse_epilogues.h"
#include "program/plan.h"
#include "tests/unit/quant_products.h"

namespace qc {
namespace {

/// A residual moves into the product's kernel without changing a bit, on either side of the sum.
// arithmetic.md: E4
TEST_F(Products, TakeAResidualAsTheyAre) {
  int fused = 0;
  for (int round = 0; round < 300; ++round) {
    const bool conv = chance(60), last = conv && chance(70), first = chance(50);
    const int64_t groups = conv && chance(40) ? 20 : 1, channels = groups > 1 ? 20 : 1 + below(40);
    const DType xt = kOperands[below(4)], wt = kWeights[below(5)], rt = kOperands[below(4)];
    const QType x_type = per_tensor(xt), w_type = per_tensor(wt);
    const QType to = result(x_type.format->scale_at() * w_type.format->scale_at(0), 1e5);
    const Ints shape = conv ? Ints{1, channels, 3, 6} : Ints{7, channels};
    auto residual_format = std::make_shared<Format>(*tensor_format(rt, 1, 0).format);
    residual_format->scale = to.format->scale;
    const QType y_type = chance(50) ? to : result(to.format->scale_at(), 300);
    const char* arithmetic =
        std::array{"exact", "onnxruntime", "torch"}[static_cast<size_t>(below(3))];
    Graph graph;
    Type type(x_type, to_dims(shape)), other(QType{rt, residual_format}, to_dims(shape));
    type.layout = other.layout = last ? Layout::channels_last : Layout::row_major;
    Value* x = graph.add_input("x", type);
    Value* r = graph.add_input("r", other);
    AttrMap attrs{{"to", to}};
    Value* w = nullptr;
    if (conv) {
      attrs["groups"] = groups;
      attrs["strides"] = attrs["dilations"] = Ints{1, 1};
      attrs["pads"] = Ints{1, 1, 1, 1};
      w = graph.constant(graph.pool().add(codes(wt, {channels, channels / groups, 3, 3})),
                         w_type.format);
    } else {
      w = graph.constant(graph.pool().add(codes(wt, {channels, channels})), w_type.format);
    }
    Value* y = *graph.emit(conv ? "qconv" : "qlinear", {x, w}, attrs, {});
    auto sum = graph.emit("qadd", first ? std::vector{y, r} : std::vector{r, y},
                          {{"to", y_type},
                           {"arithmetic", std::string(arithmetic)},
                           {"lo", int64_t{y_type.format->zero_at()}}},
                          {});
    ASSERT_TRUE(sum.ok()) << render(sum.diag());
    graph.add_output("y", *sum);
    Program plain = *lower(graph), joined = *lower(graph);
    fuse_epilogues(joined);
    ASSERT_TRUE(select_kernels(plain).ok() && select_kernels(joined).ok());
    fused += plain.steps.size() == joined.steps.size() + 1;
    plan(joined);
    ASSERT_TRUE(verify(joined).ok());
    const std::vector<Tensor> inputs{codes(xt, shape), codes(rt, shape)};
    const auto a = run_program(plain, inputs), b = run_program(joined, inputs);
    ASSERT_TRUE(a.ok() && b.ok());
    ASSERT_TRUE(a->outputs[0].identical(b->outputs[0]))
        << round << ": " << plain.steps[0].call()->kernel->name << " + "
        << plain.steps[1].call()->kernel->name;
  }
  EXPECT_EQ(fused, 300);
}

}  // namespace
}  // namespace qc
