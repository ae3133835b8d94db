#include "onnx_fixture.h"

namespace qc::onnx {
namespace {

TEST_F(OnnxImport, NodesInAnyOrderBecomeAGraph) {
  auto g = import(model({.nodes = {node("Relu", {"t"}, {"y"}, "last"), node("Relu", {"x"}, {"t"})},
                         .inputs = {x2()},
                         .outputs = {y2()}}));
  ASSERT_TRUE(g.ok()) << render(g.diag());
  const auto nodes = (*g)->nodes();
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0]->loc().names, std::vector<std::string>{"Relu_t"}) << "unnamed: op and output";
  EXPECT_EQ(nodes[1]->loc().names, std::vector<std::string>{"last"});
  EXPECT_EQ(nodes[1]->loc().op, "Relu");
  EXPECT_EQ((*g)->outputs()[0].name, "y");
}

TEST_F(OnnxImport, InitializersListedAsInputsAreConstants) {
  auto g = import(model({.nodes = {node("Reshape", {"x", "s"}, {"y"})},
                         .initializers = {int64s("s", {2, 1})},
                         .inputs = {x2(), value_info("s", 7, {2})},
                         .outputs = {value_info("y", 1, {2, 1})}}));
  ASSERT_TRUE(g.ok()) << render(g.diag());
  EXPECT_EQ((*g)->inputs().size(), 1u);
  EXPECT_EQ(str((*g)->outputs()[0].value->shape()), "[2, 1]");
}

TEST_F(OnnxImport, ConstantNodesOfEveryNumericForm) {
  const std::string t = tensor({1}, 7, [](pbf_writer& w) { w.add_string(9, raw<int64_t>({-1})); });
  const std::string attributes[] = {
      attribute_t("value", t),
      attribute("value_ints", 7, [](pbf_writer& w) { w.add_int64(8, -1); }),
  };
  for (const std::string& attribute : attributes) {
    auto g = import(model({.nodes = {node("Constant", {}, {"s"}, "", {attribute}),
                                     node("Reshape", {"x", "s"}, {"y"})},
                           .inputs = {value_info("x", 1, {2, 3})},
                           .outputs = {value_info("y", 1, {6})}}));
    ASSERT_TRUE(g.ok()) << render(g.diag());
    EXPECT_EQ(str((*g)->outputs()[0].value->shape()), "[6]");
  }
  const std::pair<std::string, const char*> scalars[] = {
      {attribute_f("value_float", 1.5f), "f32[]"},
      {attribute_i("value_int", 3), "i64[]"},
      {attribute("value_floats", 6, [](pbf_writer& w) { w.add_float(7, 2); }), "f32[1]"},
  };
  for (const auto& [attribute, type] : scalars) {
    auto g = import(model({.nodes = {node("Constant", {}, {"y"}, "", {attribute})},
                           .outputs = {value_info("y", 0, {})}}));
    ASSERT_TRUE(g.ok()) << render(g.diag());
    EXPECT_EQ(str((*g)->outputs()[0].value->type()), type);
  }
}

TEST_F(OnnxImport, DimExpressionsSymbolsAndBindings) {
  const std::string bytes = model({.nodes = {node("Relu", {"x"}, {"y"})},
                                   .inputs = {value_info("x", 1, {"2*s0 + 1", "a b", "a_b", -1})},
                                   .outputs = {value_info("y", 1, {})}});
  auto g = import(bytes);
  ASSERT_TRUE(g.ok()) << render(g.diag());
  const Dims& shape = (*g)->inputs()[0]->shape();
  EXPECT_EQ(shape[0].str(), "2*s0 + 1");
  EXPECT_FALSE(shape[1] == shape[2]) << "different texts stay different symbols";
  EXPECT_EQ(shape[3].str(), "x_dim3");
  auto bound = import(bytes, {.dims = {{"s0", 3}}});
  ASSERT_TRUE(bound.ok());
  EXPECT_EQ((*bound)->inputs()[0]->shape()[0].str(), "7");
  EXPECT_EQ(
      message_of(bytes, {.dims = {{"batch", 1}}}),
      "m.onnx: error[dim]: no dimension is named 'batch'; the inputs have a_b, a_b_, s0, x_dim3");
}

TEST_F(OnnxImport, InputsCanBecomeConstants) {
  const std::string bytes = model({.nodes = {node("Reshape", {"x", "s"}, {"y"})},
                                   .inputs = {x2(), value_info("s", 7, {2})},
                                   .outputs = {value_info("y", 1, {1, 2})}});
  const int64_t shape[] = {1, 2};
  auto g = import(bytes, {.constants = {{"s", Tensor::of<int64_t>(DType::i64, {2}, shape)}}});
  ASSERT_TRUE(g.ok()) << render(g.diag());
  EXPECT_EQ((*g)->inputs().size(), 1u);
  EXPECT_EQ(
      message_of(bytes),
      "m.onnx: error[unsupported]: Reshape 'Reshape_y': the new shape is computed at run time; "
      "quantc needs it when compiling");
}

std::string function(std::string_view name, const Names& in, const Names& out, const Names& nodes,
                     const Names& attributes = {}, const Names& defaults = {}) {
  return message([&](pbf_writer& w) {
    w.add_bytes(1, name.data(), name.size());
    for (const auto& s : in) w.add_string(4, s);
    for (const auto& s : out) w.add_string(5, s);
    for (const auto& s : attributes) w.add_string(6, s);
    for (const auto& s : nodes) w.add_message(7, s);
    w.add_message(9, message([&](pbf_writer& o) { o.add_int64(2, 6); }));
    w.add_string(10, "my");
    for (const auto& s : defaults) w.add_message(11, s);
  });
}
std::string reference(std::string_view name, std::string_view to) {
  return attribute(name, 1, [&](pbf_writer& w) { w.add_bytes(21, to.data(), to.size()); });
}

TEST_F(OnnxImport, FunctionsAreInlinedWithAttributesAndDefaults) {
  const std::string inner = function(
      "Limit", {"a"}, {"b"},
      {node("Clip", {"a"}, {"b"}, "c", {reference("min", "low"), reference("max", "high")})},
      {"low"}, {attribute_f("high", 3)});
  const std::string outer =
      function("Twice", {"a"}, {"b"},
               {node("Limit", {"a"}, {"t"}, "one", {reference("low", "floor")}, "my"),
                node("Limit", {"t"}, {"b"}, "two", {attribute_f("high", 2)}, "my")},
               {"floor"});
  const std::string bytes =
      model({.nodes = {node("Twice", {"x"}, {"y"}, "f", {attribute_f("floor", 1)}, "my")},
             .inputs = {value_info("x", 1, {4})},
             .outputs = {value_info("y", 1, {4})}},
            21, {inner, outer});
  EXPECT_EQ(run(bytes, {floats({-5, 0, 2.5, 9})}), (std::vector<std::vector<float>>{{1, 1, 2, 2}}));
  auto g = import(bytes);
  ASSERT_TRUE(g.ok());
  EXPECT_EQ((*g)->first()->loc().names, std::vector<std::string>{"f/one/c"});
}

TEST_F(OnnxImport, DeadNodesAreNotImported) {
  auto g = import(model({.nodes = {node("Relu", {"x"}, {"y"}), node("Missing", {"x"}, {"u"})},
                         .inputs = {x2()},
                         .outputs = {y2()}}));
  ASSERT_TRUE(g.ok()) << render(g.diag());
  EXPECT_EQ((*g)->node_count(), 1u);
}

using OnnxImportErrors = OnnxImport;

TEST_F(OnnxImportErrors, AllUnsupportedOpsAtOnce) {
  EXPECT_EQ(
      message_of(model({.nodes = {node("Foo", {"x"}, {"a"}, "n1"), node("Foo", {"a"}, {"b"}, "n2"),
                                  node("Bar", {"b"}, {"y"}, "n3", {}, "org")},
                        .inputs = {x2()},
                        .outputs = {y2()}})),
      "m.onnx: error[unsupported_op]: 2 operations are not supported\n"
      "  note: Foo (opset 21): 2 nodes, first 'n1'\n"
      "  note: org.Bar (opset 1): 1 node, first 'n3'");
}

TEST_F(OnnxImportErrors, BrokenNames) {
  auto of = [&](Names nodes) {
    return message_of(model({.nodes = std::move(nodes), .inputs = {x2()}, .outputs = {y2()}}));
  };
  EXPECT_EQ(of({node("Relu", {"z"}, {"y"}, "n")}),
            "m.onnx: error[graph]: Relu 'n': reads 'z', which nothing defines");
  EXPECT_EQ(of({node("Relu", {"x"}, {"y"}), node("Relu", {"x"}, {"y"}, "n")}),
            "m.onnx: error[graph]: Relu 'n': value 'y' is defined twice");
  EXPECT_EQ(of({node("Relu", {"x"}, {"x"}, "n")}),
            "m.onnx: error[graph]: Relu 'n': value 'x' is defined twice");
  EXPECT_EQ(
      of({node("Relu", {"b"}, {"a"}, "n"), node("Relu", {"a"}, {"b"}), node("Relu", {"b"}, {"y"})}),
      "m.onnx: error[graph]: Relu 'n': is part of a cycle");
  EXPECT_EQ(of({node("Relu", {"y"}, {"y"}, "n")}),
            "m.onnx: error[graph]: Relu 'n': is part of a cycle");
  EXPECT_EQ(of({}), "m.onnx: error[graph]: output 'y' is defined by nothing");
  EXPECT_EQ(message_of(model({.inputs = {x2(), x2()}, .outputs = {x2()}})),
            "m.onnx: error[graph]: input 'x' is defined twice");
  EXPECT_EQ(message_of(model({.initializers = {int64s("s", {1}), int64s("s", {1})},
                              .inputs = {x2()},
                              .outputs = {x2()}})),
            "m.onnx: error[graph]: initializer 's' is defined twice");
}

TEST_F(OnnxImportErrors, ShadowedNames) {
  const GraphParts branch = {.nodes = {node("Relu", {"x"}, {"r"}, "inner")},
                             .outputs = {value_info("r", 1, {2})}};
  EXPECT_EQ(message_of(model(
                {.nodes = {node("Relu", {"x"}, {"r"}), node("If", {"c"}, {"y"}, "if",
                                                            {attribute_g("then_branch", branch),
                                                             attribute_g("else_branch", branch)})},
                 .inputs = {x2(), value_info("c", 9, {})},
                 .outputs = {y2(), value_info("r", 1, {2})}})),
            "m.onnx: error[graph]: Relu 'inner': value 'r' hides one of the enclosing graph");
}

TEST_F(OnnxImportErrors, RecursiveFunctions) {
  const std::string f = function("F", {"a"}, {"b"}, {node("G", {"a"}, {"b"}, "g", {}, "my")});
  const std::string g = function("G", {"a"}, {"b"}, {node("F", {"a"}, {"b"}, "f", {}, "my")});
  EXPECT_EQ(message_of(model({.nodes = {node("F", {"x"}, {"y"}, "top", {}, "my")},
                              .inputs = {x2()},
                              .outputs = {y2()}},
                             21, {f, g})),
            "m.onnx: error[graph]: F 'top/g/f': function 'F' calls itself");
}

TEST_F(OnnxImportErrors, LongChainsOfFunctions) {
  Names functions;
  for (int i = 0; i < 100; ++i) {
    functions.push_back(function("F" + std::to_string(i), {"a"}, {"b"},
                                 {node("F" + std::to_string(i + 1), {"a"}, {"b"}, "c", {}, "my")}));
  }
  functions.push_back(function("F100", {"a"}, {"b"}, {node("Relu", {"a"}, {"b"})}));
  auto r = import(model(
      {.nodes = {node("F0", {"x"}, {"y"}, "top", {}, "my")}, .inputs = {x2()}, .outputs = {y2()}},
      21, functions));
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.diag().code, Code::limit);
}

TEST_F(OnnxImportErrors, Inputs) {
  auto of = [&](std::string info) {
    return message_of(model({.nodes = {node("Relu", {"x"}, {"y"})},
                             .inputs = {std::move(info)},
                             .outputs = {value_info("y", 0, {})}}));
  };
  EXPECT_EQ(of(value_info("x", 8, {1})),
            "m.onnx: error[unsupported]: input 'x' has elements of type STRING");
  EXPECT_EQ(of(value_info("x", 1, {int64_t{1} << 39, 4})),
            "m.onnx: error[limit]: input 'x' of f32[549755813888, 4] is larger than 2^40 bytes");
  EXPECT_EQ(of(message([](pbf_writer& w) { w.add_string(1, "x"); })),
            "m.onnx: error[unsupported]: input 'x' is nothing; only tensors are supported");
  const std::string rankless = message([](pbf_writer& w) {
    w.add_string(1, "x");
    w.add_message(2, message([](pbf_writer& t) {
                    t.add_message(1, message([](pbf_writer& e) { e.add_int32(1, 1); }));
                  }));
  });
  EXPECT_EQ(of(rankless),
            "m.onnx: error[unsupported]: input 'x' has no shape; its rank must be known");
}

TEST_F(OnnxImportErrors, DeclaredTypesAreChecked) {
  EXPECT_EQ(message_of(model({.nodes = {node("Relu", {"x"}, {"y"})},
                              .inputs = {x2()},
                              .outputs = {value_info("y", 7, {2})}})),
            "m.onnx: error[type]: value 'y' is declared INT64 but is f32");
}

TEST_F(OnnxImportErrors, UnknownOpsets) {
  EXPECT_EQ(message_of(model(
                {.nodes = {node("Relu", {"x"}, {"y"})}, .inputs = {x2()}, .outputs = {y2()}}, 99)),
            "m.onnx: error[unsupported]: opset 99 of domain 'ai.onnx'; the newest known is 28");
}

}  // namespace
}  // namespace qc::onnx
