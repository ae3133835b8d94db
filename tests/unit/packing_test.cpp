// Packed weights: what calls share, what is packed apart and what only a run can pack.
#include "program/select_kernels.h"
#include "quant/scheme.h"
#include "tests/unit/op_harness.h"

namespace qc {
namespace {

/// Weights of one constant, read in several ways, on every target that this machine runs.
class SharedWeights : public ::testing::Test {
 protected:
  SharedWeights() { register_all_ops(); }

  /// The outputs of a graph of an input and one constant of weights, codes of 8 bits or floats, by
  /// every target.
  void check(const std::function<void(Graph&, Value* x, Value* w)>& build, const Ints& x_shape,
             const Ints& w_shape, int packings, DType dtype = DType::i8) {
    Graph graph;
    const QType type = dtype == DType::i8 ? tensor_format(dtype, 0.1f, 0) : QType{dtype, nullptr};
    Value* x = graph.add_input("x", Type(type, to_dims(x_shape)));
    Value* w = graph.constant(graph.pool().add(random_tensor(dtype, w_shape, 1), "w"), type.format);
    build(graph, x, w);
    const std::vector<Tensor> inputs{random_tensor(dtype, x_shape, 2)};
    const auto expected = interpret(graph, inputs);
    ASSERT_TRUE(expected.ok()) << render(expected.diag());
    for (const Target& target : all_targets()) {
      if (!runs_here(target)) continue;
      Program program = *lower(graph);
      PackedConstants constants;
      ASSERT_TRUE(select_kernels(program, target, constants).ok());
      EXPECT_EQ(constants.size(), static_cast<size_t>(packings)) << target.name;
      const auto got = run_program(program, inputs);
      ASSERT_TRUE(got.ok()) << render(got.diag());
      for (size_t i = 0; i < expected->outputs.size(); ++i)
        EXPECT_TRUE(got->outputs[i].identical(expected->outputs[i])) << target.name << ' ' << i;
    }
  }
};

TEST_F(SharedWeights, RowsAndColumnsArePackedApart) {
  check(
      [](Graph& graph, Value* x, Value* w) {
        graph.add_output("a", *graph.emit("qlinear", {x, w}, {{"to", QType{}}}, {}));
        graph.add_output("b", *graph.emit("qmatmul", {x, w}, {{"to", QType{}}}, {}));
      },
      {5, 24}, {24, 24}, 2);
}

TEST_F(SharedWeights, APartOfAConstantIsPackedWhenTheProgramRuns) {
  check(
      [](Graph& graph, Value* x, Value* w) {
        Value* part =
            *graph.emit("slice", {w},
                        {{"start", Ints{24, 0}}, {"size", Ints{24, 20}}, {"step", Ints{1, 1}}}, {});
        graph.add_output("y", *graph.emit("qmatmul", {x, part}, {{"to", QType{}}}, {}));
      },
      {5, 24}, {48, 20}, 0);
}

TEST_F(SharedWeights, FloatsAreSharedByThoseThatReadThemAlike) {
  check(
      [](Graph& graph, Value* x, Value* w) {
        graph.add_output("a", *graph.emit("linear", {x, w}, {}, {}));
        graph.add_output("b", *graph.emit("linear", {x, w}, {{"lo", 0.0}}, {}));
        graph.add_output("c", *graph.emit("matmul", {x, w}, {}, {}));
        graph.add_output("d", w);
      },
      {5, 24}, {24, 24}, 2, DType::f32);
}

TEST_F(SharedWeights, APartOfAConstantOfFloatsIsPackedWhenTheProgramRuns) {
  check(
      [](Graph& graph, Value* x, Value* w) {
        Value* part =
            *graph.emit("slice", {w},
                        {{"start", Ints{24, 0}}, {"size", Ints{24, 20}}, {"step", Ints{1, 1}}}, {});
        graph.add_output("y", *graph.emit("matmul", {x, part}, {}, {}));
      },
      {5, 24}, {48, 20}, 0, DType::f32);
}

}  // namespace
}  // namespace qc
