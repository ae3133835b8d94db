// FX dumps through the public library: spellings, and what is refused. tests/python has networks.
#include <gtest/gtest.h>
#include <quantc/quantc.h>

#include <regex>

namespace quantc {
namespace {

/// A dump of one input "x" of f32[2, 3] with these nodes between it and the output `last`.
std::string dump(const std::string& nodes, const std::string& last = "y",
                 const std::string& modules = "{}") {
  return R"({"format": "quantc.fx", "version": 1, "inputs": {"x": {"dtype": "float32", "shape": ["n", 3]}},
  "modules": )" +
         modules + R"(, "nodes": [{"name": "x", "op": "placeholder", "target": "x"},)" + nodes +
         R"(, {"name": "output", "op": "output", "target": "output", "args": [{"node": ")" + last +
         R"("}]}]})";
}

std::string node(const std::string& op, const std::string& target, const std::string& args,
                 const std::string& name = "y") {
  return R"({"name": ")" + name + R"(", "op": ")" + op + R"(", "target": ")" + target +
         R"(", "args": [)" + args + "]}";
}

/// The graph's text without names, or the code of the error.
std::string loaded(const std::string& json) {
  const auto model = Model::load(json.data(), json.size(), "model.fx.json");
  if (!model) return model.diagnostic().code;
  const auto text = model->text();
  if (!text) return text.diagnostic().code;
  const std::string bare = std::regex_replace(*text, std::regex(R"(\s+loc\([^\n]*\))"), "");
  return std::regex_replace(bare, std::regex(R"((%\d+) "[^"]*")"), "$1");
}

TEST(Fx, SpellingsAreOneGraph) {
  const std::string x = R"({"node": "x"})";
  const std::string relu = loaded(dump(node("call_function", "torch.nn.functional.relu", x)));
  EXPECT_NE(relu.find("clamp(%0) {lo = 0.0}"), std::string::npos) << relu;
  const std::string module =
      R"({"act": {"class": "torch.nn.modules.activation.ReLU", "attributes": {}}})";
  for (const std::string& other :
       {dump(node("call_function", "torch.relu", x)), dump(node("call_method", "relu", x)),
        dump(node("call_method", "relu_", x)), dump(node("call_method", "relu_", x), "x"),
        dump(node("call_function", "torch.nn.functional.relu", x + ", true")),
        dump(node("call_function", "torch.clamp", x + ", 0")),
        dump(node("call_function", "torch.threshold", x + ", 0, 0")),
        dump(node("call_module", "act", x), "y", module)}) {
    EXPECT_EQ(loaded(other), relu) << other;
  }
}

TEST(Fx, SizesAreNumbersOfPython) {
  const std::string size = node("call_method", "size", R"({"node": "x"}, 0)", "size");
  const std::string all = loaded(
      dump(size + "," + node("call_method", "view", R"({"node": "x"}, {"node": "size"}, 3, 1)")));
  EXPECT_NE(all.find("f32[n, 3, 1]"), std::string::npos) << all;
}

TEST(Fx, Refusals) {
  const std::string x = R"({"node": "x"})";
  EXPECT_EQ(loaded("{}"), "format");
  EXPECT_EQ(loaded("{"), "format");
  EXPECT_EQ(loaded(R"({"format": "other", "version": 1})"), "format");
  EXPECT_EQ(loaded(R"({"format": "quantc.fx", "version": 2})"), "unsupported");
  EXPECT_EQ(loaded(dump(node("call_function", "torch.nothing", x))), "unsupported_op");
  EXPECT_EQ(loaded(dump(node("call_function", "torch.relu", R"({"node": "z"})"))), "graph");
  EXPECT_EQ(loaded(dump(node("call_function", "torch.relu", R"({"node": "y"})"))), "graph");
  EXPECT_EQ(loaded(dump(node("call_module", "act", x))), "graph");
  EXPECT_EQ(loaded(dump(node("get_attr", "w", ""))), "graph");
  EXPECT_EQ(loaded(dump(node("call_function", "torch.relu", ""))), "attribute");
  const std::string view = node("call_method", "view", x + ", -1", "v");
  const std::string write = node("call_method", "relu_", R"({"node": "v"})", "w");
  EXPECT_EQ(loaded(dump(view + "," + write + "," + node("call_method", "abs", x))), "unsupported");
  std::string deep = x;
  for (int i = 0; i < 40; ++i) deep = "[" + deep + "]";
  EXPECT_EQ(loaded(dump(node("call_function", "torch.relu", deep))), "format");
}

}  // namespace
}  // namespace quantc
