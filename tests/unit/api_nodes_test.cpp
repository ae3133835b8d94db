// Nodes through the public library: their neighbours, and what their codes mean as numbers.
#include <gtest/gtest.h>
#include <quantc/quantc.h>

namespace quantc {
namespace {

constexpr const char* kModel = "tests/models/digits.onnx";

template <class T>
T ok(Expected<T> expected) {
  if (!expected) throw std::runtime_error(expected.diagnostic().message);
  return std::move(*expected);
}

const NodeExplanation& named(const Explanation& all, const std::string& name) {
  for (const NodeExplanation& n : all.nodes) {
    if (!n.names.empty() && n.names[0] == name && n.weight_qparams) return n;
  }
  throw std::runtime_error("no node " + name);
}

TEST(ApiNodes, QuantizationIsNumbers) {
  Options options;
  options.rules_file = "examples/digits/rules.toml";
  const Model model = ok(Model::load(kModel, options));
  const Explanation all = ok(model.explain());
  const NodeExplanation& conv = named(all, "node_Conv_50");
  ASSERT_EQ(conv.output_qparams.size(), 1u);
  const QuantParams& result = conv.output_qparams[0].value();
  EXPECT_EQ(result.dtype, "i8");
  EXPECT_EQ(result.granularity, "tensor");
  EXPECT_FALSE(result.axis || result.group || result.dynamic);
  EXPECT_EQ(result.scale(), std::vector<double>{0.013540523f});
  EXPECT_EQ(result.zero_point(), std::vector<int64_t>{-128});
  ASSERT_EQ(conv.input_qparams.size(), conv.inputs.size());
  EXPECT_EQ(conv.input_qparams[0]->scale(), std::vector<double>{0.003921569f});
  const QuantParams& weight = conv.weight_qparams.value();
  EXPECT_EQ(weight.granularity, "axis");
  EXPECT_EQ(weight.axis, 0);
  EXPECT_EQ(weight.qmin, -127);
  EXPECT_GT(weight.scale().size(), 1u);
  EXPECT_EQ(weight.zero_point(), std::vector<int64_t>{0});
  EXPECT_EQ(conv.output, "i8 0.0135405 zero -128") << "the text stays beside the numbers";

  RuleSpec dynamic;
  dynamic.pattern = ".*";
  dynamic.op = "linear";
  dynamic.kind = "dynamic";
  const Model found = ok(model.quantize({rule_of(dynamic)}));
  size_t at_run_time = 0;
  for (const NodeExplanation& n : ok(found.explain()).nodes) {
    for (const auto& p : n.output_qparams) {
      if (!p || !p->dynamic) continue;
      ++at_run_time;
      EXPECT_TRUE(p->scale().empty());
    }
  }
  EXPECT_GT(at_run_time, 0u);
}

TEST(ApiNodes, NodesKnowTheirNeighbours) {
  const Model model = ok(Model::load(kModel));
  const std::vector<NodeView> nodes = ok(model.nodes());
  ASSERT_GT(nodes.size(), 5u);
  const NodeView& first = nodes[0];
  EXPECT_EQ(first.op, "conv");
  ASSERT_EQ(first.producers().size(), 1u) << "constants are left out";
  EXPECT_EQ(first.producers()[0].op, "input");
  EXPECT_EQ(first.producers()[0].users()[0].names, first.names);
  EXPECT_FALSE(first.operands[1].name.empty());
  ASSERT_EQ(first.results.size(), 1u);
  EXPECT_EQ(first.results[0].type, "f32");
  for (const NodeView& n : nodes) {
    for (const NodeView& user : n.users()) {
      bool reads = false;
      for (const NodeView& p : user.producers()) reads = reads || p.at == n.at;
      EXPECT_TRUE(reads) << n.names[0];
    }
  }
}

/// Linear layers that read no activation.
class AfterReshapes final : public Rule {
 public:
  bool matches(const NodeView& node) const override {
    const auto producers = node.producers();
    return node.op == "linear" && !producers.empty() && producers[0].op == "reshape";
  }
  RuleSpec scheme(const NodeView& node) const override {
    RuleSpec spec;
    spec.kind = node.users().empty() ? "dynamic" : "float";
    return spec;
  }
};

TEST(ApiNodes, RulesSeeNeighbours) {
  const Model model = ok(Model::load(kModel));
  const Model quantized = ok(model.quantize({std::make_shared<const AfterReshapes>()}));
  size_t found = 0;
  for (const NodeExplanation& n : ok(quantized.explain()).nodes) found += n.op == "qlinear";
  EXPECT_EQ(found, 1u);
}

}  // namespace
}  // namespace quantc
