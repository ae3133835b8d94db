#include "quant/rules.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "arrays/npz.h"
#include "driver/compile.h"
#include "driver/explain.h"
#include "ir/text.h"
#include "ops/common/registration.h"
#include "quant/constants.h"
#include "quant/rule_file.h"

namespace qc {
namespace {

class RulesTest : public testing::Test {
 protected:
  void SetUp() override { register_all_ops(); }

  static std::unique_ptr<Graph> graph(std::string_view text) {
    auto parsed = parse(text);
    EXPECT_TRUE(parsed.ok()) << render(parsed.diag());
    return parsed.ok() ? std::move(*parsed) : nullptr;
  }
  /// The rules of a file's text.
  static std::vector<RuleSpec> read(const std::string& text) {
    auto specs = parse_rules(text, "rules.toml");
    EXPECT_TRUE(specs.ok()) << (specs.ok() ? "" : render(specs.diag()));
    return specs.ok() ? *specs : std::vector<RuleSpec>{};
  }
  static QScheme scheme(const std::string& text) {
    auto g = graph(kPair);
    auto rule = make_rule(read(text).at(0));
    EXPECT_TRUE(rule.ok()) << (rule.ok() ? "" : render(rule.diag()));
    auto scheme = (*rule)->scheme(*g->last());
    EXPECT_TRUE(scheme.ok()) << (scheme.ok() ? "" : render(scheme.diag()));
    return *scheme;
  }
  static std::string refusal(const std::string& text) {
    auto specs = parse_rules(text, "rules.toml");
    return specs.ok() ? "accepted" : render(specs.diag());
  }
  /// What compiling with the rules says.
  static std::string contract(const std::string& rules, Options options = {}) {
    auto g = graph(kPair);
    options.rules = read(rules);
    auto made = make_contract(*g, options);
    return made.ok() ? "" : render(made.diag());
  }

  static constexpr std::string_view kPair = R"(graph (%0 "x" : f32[1, 4]) {
  %1 = tanh(%0) loc("net.act")
  %2 = add(%1, %0) loc("net.sum", "net.tail")
  return %2 "y"
}
)";
};

/// Names are looked up, other patterns are asked; the order stays that of the list.
TEST_F(RulesTest, TheFirstRuleHoldsHoweverItsPatternIsMatched) {
  const std::string whole = "[[rule]]\npattern='net\\.sum$'\nscale=0.1\n";
  const std::string start = "[[rule]]\npattern='net\\.s'\nscale=0.1\n";
  const std::string regex = "[[rule]]\npattern='.*sum'\nscale=0.1\n";
  const std::string named = "[[rule]]\npattern='(?:other|net\\.tail)$'\nscale=0.1\n";
  for (const std::string& first : {whole, start, regex, named}) {
    for (const std::string& second : {whole, start, regex, named}) {
      const std::string said = contract(first + second);
      EXPECT_NE(said.find("rules.toml:4: error[rule]: the rule is never used"), std::string::npos)
          << first << second << said;
      EXPECT_NE(said.find("(1 node), the first of them rules.toml:1"), std::string::npos) << said;
    }
    EXPECT_EQ(contract(first), "");
  }
  const std::string none = "[[rule]]\npattern='net\\.su$'\nscale=0.1\n";
  EXPECT_NE(contract(none).find("the rule matches no node"), std::string::npos);
  const std::string other = "[[rule]]\npattern='net\\.sum$'\nop='tanh'\nscale=0.1\n";
  EXPECT_NE(contract(other).find("the rule matches no node"), std::string::npos);
  const std::string out = "[[rule]]\npattern='net'\nexclude='net\\.(sum|act)'\nscale=0.1\n";
  EXPECT_NE(contract(out).find("the rule matches no node"), std::string::npos);
}

TEST_F(RulesTest, EveryKeyIsRead) {
  const auto specs = read(R"(
[default]
arithmetic = 'onnxruntime'
per_channel = true

[[rule]]
pattern = '.*fc.*'
exclude = 'lm_head'
op = 'linear'
dtype = 'int16'
scale = 0.05
offset = -3
qmin = -100
qmax = 100
input_dtype = 'uint8'
input_scale = [0.1, 2]
input_offset = [1, 2]
weight_dtype = 'int8'
weight_scale = [0.5, 0.25]
weight_offset = [0, 1]
weight_qmin = -127
weight_qmax = 126
per_channel = false
skip_unsupported = true

[[rule]]
pattern = 'a'
kind = 'dynamic'
per_token = true
symmetric = true
attention = 'float'

[[rule]]
op = 'linear'
kind = 'weight_only'
group = 32
)");
  ASSERT_EQ(specs.size(), 3u);
  const RuleSpec& s = specs[0];
  EXPECT_EQ(s.origin, "rules.toml:6");
  EXPECT_EQ(s.arithmetic, "onnxruntime");
  EXPECT_EQ(s.exclude, "lm_head");
  EXPECT_EQ(s.input_scale, (std::vector<double>{0.1, 2.0}));
  EXPECT_EQ(s.weight_offset, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(s.qmin, -100);
  EXPECT_EQ(s.weight_qmax, 126);
  EXPECT_FALSE(*s.per_channel);
  EXPECT_TRUE(s.skip_unsupported);
  EXPECT_TRUE(specs[1].per_token && specs[1].symmetric && *specs[1].per_channel);
  EXPECT_EQ(specs[1].attention, "float");
  EXPECT_EQ(specs[2].group, 32);
}

TEST_F(RulesTest, SchemesOfEachKind) {
  const QScheme fixed = scheme(
      "[[rule]]\npattern='net'\ndtype='int8'\nscale=0.5\noffset=3\n"
      "input_scale=[0.25, 0.125]\narithmetic='onnxruntime'");
  EXPECT_EQ(fixed.kind, QScheme::Kind::fixed);
  EXPECT_EQ(str(fixed.output), "i8 q(-128, 127, scale=0.5, zero=3)");
  ASSERT_EQ(fixed.inputs.size(), 2u);
  EXPECT_EQ(str(*fixed.inputs[1]), "i8 q(-128, 127, scale=0.125)");
  EXPECT_EQ(fixed.weight.qmin, -127);
  EXPECT_EQ(fixed.weight.granularity, Granularity::tensor);
  EXPECT_EQ(str(fixed.arithmetic), "onnxruntime");

  const QScheme wide =
      scheme("[[rule]]\npattern='net'\ndtype='int16'\nscale=0.5\nper_channel=true");
  EXPECT_EQ(wide.weight.dtype, DType::i16);
  EXPECT_EQ(wide.weight.qmin, -32767);
  EXPECT_EQ(wide.weight.granularity, Granularity::axis);

  const QScheme unsigned_ = scheme("[[rule]]\npattern='net'\ndtype='uint8'\nscale=0.5\nqmax=127");
  EXPECT_EQ(str(unsigned_.output), "u8 q(0, 127, scale=0.5)");
  EXPECT_EQ(unsigned_.weight.dtype, DType::i8);

  const QScheme given = scheme("[[rule]]\npattern='net'\nscale=1\nweight_scale=[0.5, 1]");
  EXPECT_EQ(given.weight.qmin, -128);
  EXPECT_EQ(given.weight.granularity, Granularity::axis);

  const QScheme dynamic = scheme("[[rule]]\npattern='net'\nkind='dynamic'");
  EXPECT_EQ(dynamic.kind, QScheme::Kind::dynamic);
  EXPECT_EQ(dynamic.dynamic.dtype, DType::u8);
  EXPECT_FALSE(dynamic.dynamic.per_token);
  const QScheme token = scheme(
      "[[rule]]\npattern='net'\nkind='dynamic'\nper_token=true\n"
      "symmetric=true");
  EXPECT_TRUE(token.dynamic.per_token && token.dynamic.symmetric);
  EXPECT_EQ(token.dynamic.dtype, DType::i8);

  const QScheme weights = scheme("[[rule]]\npattern='net'\nkind='weight_only'\ngroup=32");
  EXPECT_EQ(weights.kind, QScheme::Kind::weight_only);
  EXPECT_EQ(weights.weight.granularity, Granularity::group);
  EXPECT_EQ(scheme("[[rule]]\npattern='net'\nkind='weight_only'").weight.granularity,
            Granularity::axis);
  EXPECT_EQ(scheme("[[rule]]\npattern='net'\ndtype='float32'").kind, QScheme::Kind::keep);
}

TEST_F(RulesTest, PatternsAreAnchoredAtTheStartAndSeeEveryName) {
  auto g = graph(kPair);
  auto matches = [&](RuleSpec spec) {
    spec.scale = {1.0};
    auto rule = make_rule(spec);
    EXPECT_TRUE(rule.ok());
    return (*rule)->matches(*g->last());
  };
  auto named = [](std::string pattern, std::string exclude = "", std::string op = "") {
    RuleSpec spec;
    spec.pattern = pattern, spec.exclude = exclude, spec.op = op;
    return spec;
  };
  EXPECT_TRUE(matches(named("net")));
  EXPECT_TRUE(matches(named("net\\.tail$")));
  EXPECT_FALSE(matches(named("sum")));
  EXPECT_TRUE(matches(named(".*sum")));
  EXPECT_FALSE(matches(named("net", "net.tail")));
  EXPECT_TRUE(matches(named("net", "tail")));
  EXPECT_TRUE(matches(named("", "", "add")));
  EXPECT_FALSE(matches(named("net", "", "conv")));
}

TEST_F(RulesTest, BadRulesNameFileLineAndWhatIsAllowed) {
  const std::pair<const char*, const char*> cases[] = {
      {"scal = 1", "rules.toml:3: error[rule]: unknown key 'scal' (known: pattern, exclude"},
      {"scale = 0", "rules.toml:3: error[rule]: scale: 0 is no scale: it must be a finite number"},
      {"scale = -1.5", "scale: -1.5 is no scale"},
      {"scale = nan", "scale: nan is no scale"},
      {"scale = inf", "scale: inf is no scale"},
      {"scale = 1e-60", "is no scale"},
      {"scale = 'big'", "rules.toml:3: error[rule]: 'scale' must be a number or a list of them"},
      {"scale = []", "'scale' is an empty list"},
      {"scale = [1, 2]", "scale: 2 numbers where 1 is expected"},
      {"scale = 1\noffset = 128",
       "rules.toml:4: error[rule]: offset: 128 is not among the codes "
       "-128 to 127"},
      {"scale = 1\ndtype = 'uint8'\noffset = -1", "offset: -1 is not among the codes 0 to 255"},
      {"scale = 1\nqmax = 10\noffset = 11", "offset: 11 is not among the codes -128 to 10"},
      {"scale = 1\noffset = 1.5", "'offset' must be an integer or a list of them"},
      {"scale = 1\ndtype = 'int7'", "dtype: 'int7' is unknown: use one of int8, uint8, int16"},
      {"scale = 1\nweight_dtype = 'f8'", "weight_dtype: 'f8' is unknown: use one of int8"},
      {"scale = 1\nattention = 'int4'", "attention: 'int4' is unknown: use one of int8, float"},
      {"kind = 'magic'",
       "kind: 'magic' is unknown: use one of static, dynamic, weight_only, float"},
      {"scale = 1\nqmin = 5\nqmax = 5", "qmin: codes 5 to 5"},
      {"scale = 1\nqmin = -129", "qmin: codes -129 to 127: they must lie within -128 to 127"},
      {"scale = 1\nweight_scale = [1, 0]", "weight_scale: 0 is no scale"},
      {"scale = 1\nweight_scale = [1, 2]\nweight_offset = [1, 2, 3]", "3 offsets for 2 scales"},
      {"scale = 1\ninput_offset = 1", "an offset needs a scale"},
      {"scale = 1\ngroup = 0", "groups of 0"},
      {"scale = 1\narithmetic = 'sloppy'", "rules.toml:4: error[rule]: arithmetic: "},
      {"dtype = 'int8'", "rules.toml:1: error[rule]: scale: missing: a static rule needs"},
      {"kind = 'dynamic'\nscale = 1", "'scale' means nothing for a rule of kind dynamic"},
      {"scale = 1\nexclude = '('", "exclude: '(' is not a regular expression: missing )"},
      {"scale = 1\nexclude = '(?!a)b'", "name what is not meant with 'exclude'"},
      {"scale_file = 'x.npz'", "'scale_file' is 'x.npz': it must be 'file.npz:name'"},
      {"scale_file = 'absent.npz:s'", "'scale_file': cannot open"},
      {"scale = 1\nscale_file = 'x.npz:s'", "'scale' is given too"},
      {"scale = 1\nper_channel = 1", "'per_channel' must be true or false"},
  };
  for (const auto& [body, expected] : cases) {
    const std::string said = refusal(fmt::format("[[rule]]\npattern = 'a'\n{}\n", body));
    EXPECT_NE(said.find(expected), std::string::npos) << body << "\n" << said;
  }
  EXPECT_NE(refusal("[[rule]]\npattern='(?!lm_head).*'\nscale=1").find("rules.toml:2"),
            std::string::npos);
  EXPECT_NE(refusal("[[rule]]\nscale=1").find("needs a 'pattern' or an 'op'"), std::string::npos);
  EXPECT_NE(refusal("[[rules]]\nscale=1").find("unknown key 'rules'"), std::string::npos);
  EXPECT_NE(refusal("[rule]\nscale=1").find("[[rule]]"), std::string::npos);
  EXPECT_NE(refusal("[[rule]\n").find("rules.toml:1: error[rule]"), std::string::npos);
}

TEST_F(RulesTest, TheDefaultTableIsInheritedAndMayBeTheLastRule) {
  const auto specs = read(
      "[default]\npattern='.*'\ndtype='uint8'\nscale=0.5\n"
      "[[rule]]\npattern='a'\n[[rule]]\npattern='b'\ndtype='float32'\n");
  ASSERT_EQ(specs.size(), 3u);
  EXPECT_EQ(specs[0].dtype, "uint8");
  EXPECT_EQ(specs[0].scale, std::vector<double>{0.5});
  EXPECT_EQ(specs[1].dtype, "float32");
  EXPECT_EQ(specs[2].pattern, ".*");
}

TEST_F(RulesTest, NumbersComeFromFilesBesideTheRules) {
  const std::string folder = testing::TempDir();
  const float scales[] = {0.5f, 0.25f};
  const int64_t offsets[] = {1, 2};
  const std::vector<NamedArray> arrays = {{"s", Tensor::of<float>(DType::f32, {2}, scales)},
                                          {"z", Tensor::of<int64_t>(DType::i64, {2}, offsets)}};
  ASSERT_TRUE(write_npz(folder + "/scales.npz", arrays).ok());
  std::ofstream(folder + "/rules.toml") << "[[rule]]\npattern='a'\nscale=1\n"
                                           "weight_scale_file='scales.npz:s'\n"
                                           "weight_offset_file='scales.npz:z'\n";
  auto specs = read_rules(folder + "/rules.toml");
  ASSERT_TRUE(specs.ok()) << render(specs.diag());
  EXPECT_EQ((*specs)[0].weight_scale, (std::vector<double>{0.5, 0.25}));
  EXPECT_EQ((*specs)[0].weight_offset, (std::vector<int64_t>{1, 2}));
}

TEST_F(RulesTest, UnusedAndHiddenRulesAreErrors) {
  const std::string first = "[[rule]]\npattern='net.*'\nscale=0.1\n";
  EXPECT_EQ(contract(first), "");
  const std::string unused = first + "[[rule]]\npattern='other'\nscale=0.1\n";
  EXPECT_NE(contract(unused).find("rules.toml:4: error[rule]: the rule matches no node"),
            std::string::npos)
      << contract(unused);
  const std::string hidden = first + "[[rule]]\npattern='.*sum'\nscale=0.1\n";
  EXPECT_NE(contract(hidden).find("rules.toml:4: error[rule]: the rule is never used"),
            std::string::npos);
  EXPECT_NE(contract(hidden).find("rules.toml:1"), std::string::npos);
  Options lenient;
  lenient.allow_unused_rules = true;
  EXPECT_EQ(contract(unused, lenient), "");
  EXPECT_EQ(contract(hidden, lenient), "");
}

TEST_F(RulesTest, NodesOfRegionsCount) {
  Options options;
  options.rules = read("[[rule]]\npattern='inner'\nscale=0.1\n");
  auto g = graph(R"(graph (%0 "c" : bool[], %1 "x" : f32[1]) {
  %2 = if(%0, %1) regions {
    graph (%0 "x" : f32[1]) {
      %1 = tanh(%0) loc("inner")
      return %1
    }
    graph (%0 "x" : f32[1]) {
      %1 = sigmoid(%0) loc("other")
      return %1
    }
  } loc("choice")
  return %2 "y"
}
)");
  ASSERT_TRUE(g);
  auto made = make_contract(*g, options);
  EXPECT_TRUE(made.ok()) << render(made.diag());
  EXPECT_NE(print(*g).find("lookup"), std::string::npos) << print(*g);
}

TEST_F(RulesTest, TooManyOperandScalesNameRuleAndNode) {
  const std::string said =
      contract("[[rule]]\npattern='.*sum'\nscale=0.1\ninput_scale=[1, 2, 3]\n");
  EXPECT_NE(said.find("rules.toml:1: error[rule]: "), std::string::npos) << said;
  EXPECT_NE(said.find("input_scale has 3 numbers, but add has 2 operands"), std::string::npos);
}

TEST_F(RulesTest, WeightsRoundAndSaturate) {
  auto codes = [](std::vector<float> values, float scale) {
    Graph g;
    RuleSpec spec;
    spec.pattern = ".*", spec.scale = {1.0}, spec.weight_scale = {scale};
    auto pair = graph(kPair);
    auto scheme = scheme_for(spec, *pair->last());
    EXPECT_TRUE(scheme.ok());
    Value* w = g.constant(Tensor::of<float>(DType::f32, {static_cast<int64_t>(values.size())},
                                            std::span<const float>(values)));
    auto type = weight_format(g, w, scheme->weight, 0, 0, {});
    EXPECT_TRUE(type.ok());
    const Tensor q = *g.pool().get(quantized_constant(g, w, *type)->constant());
    std::vector<int64_t> out;
    for (int64_t i = 0; i < q.size(); ++i) out.push_back(q.as_int(i));
    return out;
  };
  EXPECT_EQ(codes({0, 0.1f, -0.1f, 0.2f, -0.2f}, 0.1f), (std::vector<int64_t>{0, 1, -1, 2, -2}));
  EXPECT_EQ(codes({10, -10}, 0.01f), (std::vector<int64_t>{127, -128}));
}

TEST_F(RulesTest, InputsAndOutputsMayBeCodes) {
  Options options;
  options.rules = read("[[rule]]\npattern='net.*'\nscale=0.1\n");
  options.io_dtype = "quantized";
  auto g = graph(kPair);
  ASSERT_TRUE(make_contract(*g, options).ok());
  EXPECT_EQ(str(g->inputs()[0]->type()), "i8[1, 4] q(-128, 127, scale=0.1)");
  EXPECT_EQ(str(g->outputs()[0].value->type()), "i8[1, 4] q(-128, 127, scale=0.1)");
  EXPECT_TRUE(verify(*g).ok());
}

TEST_F(RulesTest, FloatOperationsAreListed) {
  Options options;
  options.require_integer = true;
  options.rules = read(
      "[[rule]]\npattern='net.act'\nscale=0.1\n"
      "[[rule]]\npattern='net.sum'\nkind='float'\n");
  auto g = graph(kPair);
  auto made = make_contract(*g, options);
  ASSERT_FALSE(made.ok());
  const std::string said = render(made.diag());
  EXPECT_NE(said.find("1 operation computes in float"), std::string::npos) << said;
  EXPECT_NE(said.find("net.sum+net.tail (add): its rule keeps it"), std::string::npos) << said;
}

}  // namespace
}  // namespace qc
