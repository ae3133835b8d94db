#include <gtest/gtest.h>

#include "frontends/onnx/import.h"
#include "interp/interpreter.h"
#include "onnx_bytes.h"
#include "ops/common/registration.h"
#include "program/lowering.h"
#include "program/run.h"

namespace qc::onnx {
namespace {
using namespace onnx_bytes;

class OnnxImport : public testing::Test {
 protected:
  static void SetUpTestSuite() { register_all_ops(); }

  Result<std::unique_ptr<Graph>> import(std::string bytes, const ImportOptions& options = {}) {
    bytes_ = std::move(bytes);
    QC_ASSIGN(Model model, parse_model(as_bytes(bytes_), "m.onnx"));
    QC_ASSIGN(auto graph, import_model(model, options));
    QC_TRY(verify(*graph));
    return graph;
  }
  std::string message_of(std::string bytes, const ImportOptions& options = {}) {
    auto r = import(std::move(bytes), options);
    return r.ok() ? "ok" : render(r.diag());
  }
  /// Outputs as floats, from the interpreter and, bit-equal, from the lowered program.
  std::vector<std::vector<float>> run(std::string bytes, std::vector<Tensor> inputs,
                                      const ImportOptions& options = {}) {
    auto graph = import(std::move(bytes), options);
    EXPECT_TRUE(graph.ok()) << render(graph.diag());
    if (!graph.ok()) return {};
    auto result = interpret(**graph, inputs);
    EXPECT_TRUE(result.ok()) << render(result.diag());
    if (!result.ok()) return {};
    auto program = lower(**graph);
    EXPECT_TRUE(program.ok()) << render(program.diag());
    if (!program.ok()) return {};
    auto compiled = run_program(*program, inputs);
    EXPECT_TRUE(compiled.ok()) << render(compiled.diag());
    std::vector<std::vector<float>> out;
    for (size_t i = 0; i < result->outputs.size(); ++i) {
      const Tensor& t = result->outputs[i];
      EXPECT_TRUE(compiled.ok() && t.identical(compiled->outputs[i])) << i;
      out.emplace_back();
      for (int64_t k = 0; k < t.size(); ++k)
        out.back().push_back(static_cast<float>(t.as_double(k)));
    }
    return out;
  }
  std::string bytes_;
};

Tensor floats(std::vector<float> v) {
  return Tensor::of<float>(DType::f32, {static_cast<int64_t>(v.size())}, v);
}
Tensor boolean(bool v) {
  Tensor t(DType::boolean, {});
  t.set_int(0, v);
  return t;
}
std::string x2() { return value_info("x", 1, {2}); }
std::string y2() { return value_info("y", 1, {2}); }
std::string attribute_f(std::string_view name, float v) {
  return attribute(name, 1, [&](pbf_writer& w) { w.add_float(2, v); });
}
std::string attribute_g(std::string_view name, const GraphParts& g) {
  return attribute(name, 5, [&](pbf_writer& w) { w.add_message(6, graph(g)); });
}
std::string attribute_t(std::string_view name, const std::string& t) {
  return attribute(name, 4, [&](pbf_writer& w) { w.add_message(5, t); });
}
std::string clip(std::string in, std::string out, float lo, float hi, std::string name = "") {
  return node("Clip", {in}, {out}, name, {attribute_f("min", lo), attribute_f("max", hi)});
}
std::string int64s(std::string_view name, std::initializer_list<int64_t> v) {
  return tensor(
      {static_cast<int64_t>(v.size())}, 7, [&](pbf_writer& w) { w.add_string(9, raw(v)); }, name);
}

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
  const std::string forms[] = {
      attribute_t("value", t),
      attribute("value_ints", 7, [](pbf_writer& w) { w.add_int64(8, -1); }),
  };
  for (const std::string& form : forms) {
    auto g = import(model(
        {.nodes = {node("Constant", {}, {"s"}, "", {form}), node("Reshape", {"x", "s"}, {"y"})},
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
  for (const auto& [form, type] : scalars) {
    auto g = import(model(
        {.nodes = {node("Constant", {}, {"y"}, "", {form})}, .outputs = {value_info("y", 0, {})}}));
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

TEST_F(OnnxImport, IfWithConstantConditionKeepsOneBranch) {
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

TEST_F(OnnxImport, IfRunsTheBranchChosenAtRunTime) {
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

TEST_F(OnnxImport, LoopCarriesAndStacks) {
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

TEST_F(OnnxImport, LoopEndsWhenItsConditionFails) {
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

TEST_F(OnnxImportErrors, Loops) {
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

}  // namespace
}  // namespace qc::onnx
