#include "onnx_fixture.h"

namespace qc::onnx {
namespace {

using OnnxControl = OnnxImport;

TEST_F(OnnxControl, IfWithConstantConditionKeepsOneBranch) {
  for (bool condition : {false, true}) {
    const std::string c = tensor(
        {}, 9, [&](pbf_writer& w) { w.add_string(9, std::string(1, condition ? '\1' : '\0')); },
        "c");
    const std::string bytes = model(
        {.nodes = {node("If", {"c"}, {"y"}, "if",
                        {attribute_g("then_branch", {.nodes = {node("Relu", {"x"}, {"t"})},
                                                     .outputs = {value_info("t", 1, {2})}}),
                         attribute_g("else_branch", {.nodes = {node("Missing", {"x"}, {"e"})},
                                                     .outputs = {value_info("e", 1, {2})}})})},
         .initializers = {c},
         .inputs = {x2()},
         .outputs = {y2()}});
    if (condition) {
      EXPECT_EQ(run(bytes, {floats({-1, 2})}), (std::vector<std::vector<float>>{{0, 2}}));
    } else {
      EXPECT_EQ(message_of(bytes),
                "m.onnx: error[unsupported_op]: 1 operation is not supported\n"
                "  note: Missing (opset 21): 1 node, first 'Missing_e'");
    }
  }
}

TEST_F(OnnxControl, IfRunsTheBranchChosenAtRunTime) {
  const std::string bytes = model(
      {.nodes = {node("Relu", {"x"}, {"r"}),
                 node("If", {"c"}, {"y", "z"}, "if",
                      {attribute_g("then_branch",
                                   {.nodes = {clip("r", "t", 0, 1), clip("x", "u", -1, 1)},
                                    .outputs = {value_info("t", 1, {2}), value_info("u", 1, {2})}}),
                       attribute_g("else_branch", {.nodes = {clip("x", "e", -9, 0)},
                                                   .outputs = {value_info("e", 1, {2}),
                                                               value_info("r", 1, {2})}})})},
       .inputs = {value_info("c", 9, {}), x2()},
       .outputs = {y2(), value_info("z", 1, {2})}},
      6);
  EXPECT_EQ(run(bytes, {boolean(true), floats({-3, 4})}),
            (std::vector<std::vector<float>>{{0, 1}, {-1, 1}}));
  EXPECT_EQ(run(bytes, {boolean(false), floats({-3, 4})}),
            (std::vector<std::vector<float>>{{-3, 0}, {0, 4}}));
}

TEST_F(OnnxControl, LoopCarriesAndStacks) {
  // a, b = b, clip(a, captured) for three trips; every a is stacked.
  const GraphParts body = {.nodes = {clip("a", "n", -2, 2)},
                           .inputs = {value_info("i", 7, {}), value_info("go", 9, {}),
                                      value_info("a", 1, {2}), value_info("b", 1, {2})},
                           .outputs = {value_info("go", 9, {}), value_info("b", 1, {2}),
                                       value_info("n", 1, {2}), value_info("a", 1, {2})}};
  const std::string trips = tensor(
      {}, 7, [](pbf_writer& w) { w.add_string(9, raw<int64_t>({3})); }, "m");
  const std::string bytes = model(
      {.nodes = {node("Loop", {"m", "", "x", "z"}, {"p", "q", "s"}, "l",
                      {attribute_g("body", body)})},
       .initializers = {trips},
       .inputs = {x2(), value_info("z", 1, {2})},
       .outputs = {value_info("p", 1, {2}), value_info("q", 1, {2}), value_info("s", 1, {3, 2})}},
      6);
  EXPECT_EQ(run(bytes, {floats({-5, 1}), floats({7, 0})}),
            (std::vector<std::vector<float>>{{2, 0}, {-2, 1}, {-5, 1, 7, 0, -2, 1}}));
}

TEST_F(OnnxControl, LoopEndsWhenItsConditionFails) {
  // The condition becomes the captured c after the first trip.
  const GraphParts body = {
      .nodes = {clip("a", "n", -2, 2)},
      .inputs = {value_info("i", 7, {}), value_info("go", 9, {}), value_info("a", 1, {2})},
      .outputs = {value_info("c", 9, {}), value_info("n", 1, {2})}};
  const std::string bytes =
      model({.nodes = {node("Loop", {"", "d", "x"}, {"y"}, "l", {attribute_g("body", body)})},
             .inputs = {x2(), value_info("c", 9, {}), value_info("d", 9, {})},
             .outputs = {y2()}},
            6);
  EXPECT_EQ(run(bytes, {floats({-5, 1}), boolean(false), boolean(true)}),
            (std::vector<std::vector<float>>{{-2, 1}}));
  EXPECT_EQ(run(bytes, {floats({-5, 1}), boolean(false), boolean(false)}),
            (std::vector<std::vector<float>>{{-5, 1}}));
}

TEST_F(OnnxControl, LoopErrors) {
  auto of = [&](Names inputs, std::vector<DimText> carried, Names outputs, Names body_outputs) {
    const GraphParts body = {
        .nodes = {clip("a", "n", -2, 2)},
        .inputs = {value_info("i", 7, {}), value_info("go", 9, {}), value_info("a", 1, carried)},
        .outputs = std::move(body_outputs)};
    return message_of(
        model({.nodes = {node("Loop", inputs, {"y"}, "l", {attribute_g("body", body)})},
               .inputs = {x2(), value_info("m", 7, {})},
               .outputs = std::move(outputs)},
              6));
  };
  const std::string go = value_info("go", 9, {}), n = value_info("n", 1, {2});
  EXPECT_EQ(of({"", "", "x"}, {2}, {y2()}, {go, n}),
            "m.onnx: error[graph]: Loop 'l': the loop never ends");
  EXPECT_EQ(of({"m", "", "x"}, {2}, {y2()}, {go}),
            "m.onnx: error[graph]: Loop 'l': carries 1 values, but its body takes 3 and gives 1");
  EXPECT_EQ(
      of({"m", "", "x"}, {2}, {y2()}, {go, n, n}),
      "m.onnx: error[unsupported]: Loop 'l': stacks values over a number of trips that is only "
      "known at run time");
  EXPECT_EQ(of({"m", "", "x"}, {2}, {y2()}, {go, value_info("i", 7, {})}),
            "m.onnx: error[unsupported]: Loop 'l': carried value 0 changes from f32[2] to i64[]");
}

/// A scan of x [3, 2] that carries the sum s and stacks every sum.
std::string running_sum(const Names& attributes, std::vector<DimText> x, std::vector<DimText> out) {
  const GraphParts body = {
      .nodes = {node("Add", {"s", "e"}, {"t"}), node("Identity", {"t"}, {"u"})},
      .inputs = {value_info("s", 1, {2}), value_info("e", 1, {2})},
      .outputs = {value_info("t", 1, {2}), value_info("u", 1, {2})}};
  Names all = attributes;
  all.push_back(attribute_i("num_scan_inputs", 1));
  all.push_back(attribute_g("body", body));
  return model({.nodes = {node("Scan", {"z", "x"}, {"y", "k"}, "scan", all)},
                .inputs = {value_info("z", 1, {2}), value_info("x", 1, std::move(x))},
                .outputs = {value_info("y", 1, {2}), value_info("k", 1, std::move(out))}});
}
std::string attribute_is(std::string_view name, std::initializer_list<int64_t> v) {
  return attribute(name, 7, [&](pbf_writer& w) { w.add_packed_int64(8, v.begin(), v.end()); });
}
Tensor matrix(std::vector<int64_t> shape, std::vector<float> v) {
  return Tensor::of<float>(DType::f32, std::move(shape), v);
}

TEST_F(OnnxControl, ScanCarriesAndStacks) {
  EXPECT_EQ(
      run(running_sum({}, {3, 2}, {3, 2}), {floats({0, 10}), matrix({3, 2}, {1, 2, 3, 4, 5, 6})}),
      (std::vector<std::vector<float>>{{9, 22}, {1, 12, 4, 16, 9, 22}}));
}

TEST_F(OnnxControl, ScanAxesAndDirections) {
  // Scans columns from the last to the first, stacks as columns, last first.
  const Names attributes = {
      attribute_is("scan_input_axes", {1}), attribute_is("scan_input_directions", {1}),
      attribute_is("scan_output_axes", {-1}), attribute_is("scan_output_directions", {1})};
  EXPECT_EQ(run(running_sum(attributes, {2, 3}, {2, 3}),
                {floats({0, 10}), matrix({2, 3}, {1, 2, 3, 4, 5, 6})}),
            (std::vector<std::vector<float>>{{6, 25}, {6, 5, 3, 25, 21, 16}}));
}

TEST_F(OnnxControl, ScanErrors) {
  EXPECT_EQ(message_of(running_sum({attribute_is("scan_input_axes", {1, 2})}, {2, 3}, {2, 3})),
            "m.onnx: error[attribute]: Scan 'scan': 'scan_input_axes' has 2 entries for 1 values");
}

TEST_F(OnnxControl, SequencesLeaveNothingInTheGraph) {
  const std::string first = int64s("first", {0}), last = int64s("last", {-1});
  const std::string bytes =
      model({.nodes = {node("SequenceConstruct", {"x", "z"}, {"s"}),
                       node("SequenceInsert", {"s", "x", "first"}, {"s3"}),
                       node("SequenceErase", {"s3"}, {"s2"}), node("SequenceLength", {"s3"}, {"n"}),
                       node("SequenceAt", {"s3", "last"}, {"y"}),
                       node("ConcatFromSequence", {"s2"}, {"k"}, "", {attribute_i("axis", 0)})},
             .initializers = {first, last},
             .inputs = {x2(), value_info("z", 1, {2})},
             .outputs = {y2(), value_info("k", 1, {4}), value_info("n", 7, {})}});
  EXPECT_EQ(run(bytes, {floats({1, 2}), floats({3, 4})}),
            (std::vector<std::vector<float>>{{3, 4}, {1, 2, 1, 2}, {3}}));
}

TEST_F(OnnxControl, SplitsIntoSequences) {
  const std::string bytes = model(
      {.nodes = {node("SplitToSequence", {"x", "n"}, {"s"}), node("SequenceAt", {"s", "i"}, {"y"})},
       .initializers = {tensor(
                            {}, 7, [](pbf_writer& w) { w.add_string(9, raw<int64_t>({2})); }, "n"),
                        int64s("i", {1})},
       .inputs = {value_info("x", 1, {3})},
       .outputs = {value_info("y", 1, {1})}});
  EXPECT_EQ(run(bytes, {floats({1, 2, 3})}), (std::vector<std::vector<float>>{{3}}));
}

TEST_F(OnnxControl, SequenceErrors) {
  auto of = [&](Names nodes) {
    return message_of(model({.nodes = std::move(nodes),
                             .initializers = {int64s("i", {5})},
                             .inputs = {x2()},
                             .outputs = {y2()}}));
  };
  EXPECT_EQ(
      of({node("SequenceConstruct", {"x"}, {"s"}), node("SequenceAt", {"s", "i"}, {"y"}, "n")}),
      "m.onnx: error[attribute]: SequenceAt 'n': position 5 in a sequence of 1");
  EXPECT_EQ(of({node("SequenceAt", {"x", "i"}, {"y"}, "n")}),
            "m.onnx: error[graph]: SequenceAt 'n': operand 0 is not a sequence");
  EXPECT_EQ(of({node("SequenceConstruct", {"x"}, {"s"}), node("Relu", {"s"}, {"y"}, "n")}),
            "m.onnx: error[unsupported]: value 's' is a sequence");
}

}  // namespace
}  // namespace qc::onnx
