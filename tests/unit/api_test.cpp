// The public library, through its installed headers alone.
#include <gtest/gtest.h>
#include <quantc/quantc.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace quantc {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModel = "tests/models/digits.onnx";

template <class T>
T ok(Expected<T> expected) {
  if (!expected) throw std::runtime_error(expected.diagnostic().message);
  return std::move(*expected);
}

Options portable(const std::string& rules_file = "") {
  Options out;
  out.name = "digits";
  out.target = "portable";
  out.rules_file = rules_file;
  return out;
}

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

std::vector<Array> digit(float step = 0.01f) {
  std::vector<float> pixels(64);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(i % 16) * step;
  return {Array::of("image", "f32", {1, 1, 8, 8}, pixels)};
}

bool same(const std::vector<Array>& a, const std::vector<Array>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].name != b[i].name || a[i].type != b[i].type || a[i].shape != b[i].shape ||
        a[i].data != b[i].data)
      return false;
  }
  return true;
}

/// Every file of two folders is the same.
void expect_same_files(const fs::path& a, const fs::path& b) {
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(a)) {
    ++files;
    EXPECT_EQ(contents(entry.path()), contents(b / entry.path().filename())) << entry.path();
  }
  EXPECT_GT(files, 3u);
  EXPECT_EQ(files, static_cast<size_t>(std::distance(fs::directory_iterator(b), {})));
}

class ApiTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "quantc_api_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST_F(ApiTest, RunsByKernelsAndInTheInterpreterGiveTheSameBits) {
  const Model model = ok(Model::load(kModel));
  const auto fast = ok(model.run(digit()));
  ASSERT_EQ(fast.size(), 1u);
  EXPECT_EQ(fast[0].name, "scores");
  EXPECT_EQ(fast[0].shape, (std::vector<int64_t>{1, 10}));
  EXPECT_TRUE(same(fast, ok(model.run_reference(digit()))));
}

TEST_F(ApiTest, ASecondRunMakesNothingAgain) {
  const Model model = ok(Model::load(kModel));
  const auto first = ok(model.run(digit()));
  EXPECT_EQ(model.program_cache().misses, 1u);
  EXPECT_EQ(model.program_cache().count, 1u);
  EXPECT_GT(model.program_cache().bytes, 60000u);
  EXPECT_TRUE(same(first, ok(model.run(digit()))));
  EXPECT_EQ(model.program_cache().misses, 1u);
  EXPECT_EQ(model.program_cache().hits, 1u);
  model.limit_program_cache(0, 0);
  EXPECT_EQ(model.program_cache().count, 0u);
  EXPECT_TRUE(same(first, ok(model.run(digit()))));
}

TEST_F(ApiTest, AModelWithRangesRunsAtAllSizes) {
  const fs::path file = folder_ / "m.ir";
  std::ofstream(file) << "graph (%0 \"x\" : f32[a, n, 4]) {\n  dim \"a\" = 1..9\n  dim \"n\" = "
                         "1..64\n  %1 = softmax(%0) {axis = 1}\n  %2 = matmul(%0, %1) "
                         "{transpose_b = true}\n  return %2\n}\n";
  Options options;
  options.ranges["n"] = {2, 40, 2, {8, 40}, 0, {}};
  const Model model = ok(Model::load(file.string(), options));
  const auto input = [](int64_t a, int64_t n) {
    std::vector<float> x(static_cast<size_t>(a * n * 4));
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 23) - 9.5f;
    return std::vector<Array>{Array::of("x", "f32", {a, n, 4}, x)};
  };
  for (int64_t n = 2; n <= 40; n += 2) {
    const int64_t a = 1 + n % 3;
    EXPECT_TRUE(same(ok(model.run(input(a, n))), ok(model.run_reference(input(a, n))))) << n;
  }
  for (int64_t n : {3, 42}) {
    const auto refused = model.run(input(1, n));
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.diagnostic().message.find("'n'"), std::string::npos);
  }
}

TEST_F(ApiTest, FromMemoryAndFromAFileAreTheSame) {
  for (const char* path : {kModel, "tests/models/digits.pt2"}) {
    const std::string bytes = contents(path);
    const Model file = ok(Model::load(path));
    const Model memory = ok(Model::load(bytes.data(), bytes.size(), "digits"));
    auto input = digit();
    input[0].name.clear();
    EXPECT_TRUE(same(ok(file.run(input)), ok(memory.run(input))));
    EXPECT_EQ(ok(file.text()), ok(memory.text()));
  }
  const auto bad = Model::load("nonsense", 8, "nonsense.onnx");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.diagnostic().code, "format");
  EXPECT_FALSE(Model::load("", 0, "empty"));
}

TEST_F(ApiTest, TextWithAllConstantsIsAModel) {
  const Model model = ok(Model::load(kModel, portable("examples/digits/rules.toml")));
  const std::string text = ok(model.text(true));
  const Model again = ok(Model::load(text.data(), text.size(), "digits.ir"));
  EXPECT_EQ(ok(again.text(true)), text);
  EXPECT_TRUE(same(ok(model.run(digit())), ok(again.run(digit()))));
  const std::string small = ok(model.text());
  EXPECT_FALSE(Model::load(small.data(), small.size(), "digits.ir"));
}

TEST_F(ApiTest, RulesAsValuesAndAsAFileGiveTheSameFiles) {
  const Model model = ok(Model::load(kModel, portable()));
  Rules rules;
  for (RuleSpec& spec : ok(read_rules("examples/digits/rules.toml"))) {
    spec.origin.clear();
    rules.push_back(rule_of(spec));
  }
  const Model values = ok(model.quantize(rules));
  ok(values.compile((folder_ / "values").string()));
  const Model file = ok(Model::load(kModel, portable("examples/digits/rules.toml")));
  ok(file.compile((folder_ / "file").string()));
  expect_same_files(folder_ / "values", folder_ / "file");
  EXPECT_TRUE(same(ok(values.run(digit())), ok(file.run_reference(digit()))));
}

/// Convolutions compute on codes whose scales are found at run time.
class Convolutions final : public Rule {
 public:
  bool matches(const NodeView& node) const override { return node.op == "conv"; }
  RuleSpec scheme(const NodeView&) const override {
    RuleSpec spec;
    spec.kind = "dynamic";
    return spec;
  }
  std::string origin() const override { return "Convolutions"; }
};

TEST_F(ApiTest, RulesOfBothKindsAreTriedInOrder) {
  const Model model = ok(Model::load(kModel));
  RuleSpec stays;
  stays.op = "conv";
  stays.pattern = "node_Conv_50";
  stays.kind = "float";
  const auto count = [](const Model& m, const std::string& op) {
    size_t found = 0;
    const Explanation all = ok(m.explain());
    for (const NodeExplanation& n : all.nodes) found += n.op == op;
    return found;
  };
  const Model first = ok(model.quantize({rule_of(stays), std::make_shared<const Convolutions>()}));
  EXPECT_EQ(count(first, "conv"), 1u);
  EXPECT_EQ(count(first, "qconv"), 2u);
  const auto hidden = model.quantize({std::make_shared<const Convolutions>(), rule_of(stays)});
  ASSERT_FALSE(hidden);
  EXPECT_EQ(hidden.diagnostic().code, "rule");
  RuleSpec nothing;
  nothing.pattern = "no_such_layer";
  nothing.scale = {0.1};
  const auto unused = model.quantize({rule_of(nothing)});
  ASSERT_FALSE(unused);
  EXPECT_EQ(unused.diagnostic().kind, Kind::user);
}

TEST_F(ApiTest, CalibrationGivesRulesThatCanBeSaved) {
  const Model model = ok(Model::load(kModel));
  std::vector<float> samples(20 * 64);
  for (size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<float>(i % 37) / 36.0f;
  const Array data = Array::of("image", "f32", {20, 1, 8, 8}, samples);
  CalibrationOptions how;
  how.per_channel = true;
  int64_t last = 0;
  how.progress = [&](int64_t done, int64_t) { last = done; };
  const Calibration found = ok(model.calibrate({data}, how));
  EXPECT_EQ(found.runs, 20);
  EXPECT_EQ(last, 20);
  ASSERT_GT(found.rules.size(), 2u);
  const std::string path = (folder_ / "scales.toml").string();
  ok(found.save(path));
  Rules rules;
  for (const RuleSpec& spec : found.rules) rules.push_back(rule_of(spec));
  const Model values = ok(model.quantize(rules));
  const Model file = ok(Model::load(kModel, portable(path)));
  EXPECT_EQ(ok(values.text(true)), ok(file.text(true)));
  ok(save_rules(found.rules, (folder_ / "again.toml").string()));
  const Model again = ok(Model::load(kModel, portable((folder_ / "again.toml").string())));
  EXPECT_EQ(ok(again.text(true)), ok(file.text(true)));
  how.method = "best";
  EXPECT_EQ(model.calibrate({data}, how).diagnostic().code, "usage");
}

TEST_F(ApiTest, ExplainsAndValidates) {
  const Model model = ok(Model::load(kModel, portable("examples/digits/rules.toml")));
  const Explanation all = ok(model.explain());
  EXPECT_EQ(all.nodes.size(), 10u);
  EXPECT_EQ(all.totals, "10 nodes: 7 integer, 0 float, 1 move elements, 2 convert");
  EXPECT_NE(all.table().find("qconv"), std::string::npos);
  EXPECT_NE(all.json.find("\"totals\""), std::string::npos);
  EXPECT_EQ(all.nodes[1].rule.substr(all.nodes[1].rule.rfind('/') + 1), "rules.toml:8");
  const auto input = digit();
  const auto expected = ok(model.run(input));
  ValidateOptions how;
  how.targets = {"portable"};
  how.flags = {"-O1"};
  const Validation v = ok(model.validate({input[0]}, {expected[0]}, how));
  EXPECT_TRUE(v.ok) << v.table;
  EXPECT_EQ(v.comparisons.size(),
            5u);  // three ways against what is expected, two against the interpreter
  auto wrong = expected;
  wrong[0].data[3] = std::byte{0x7f};
  EXPECT_TRUE(ok(model.validate({input[0]}, {wrong[0]}, how)).ok);  // rules, and no bar
  how.atol = 0;
  EXPECT_FALSE(ok(model.validate({input[0]}, {wrong[0]}, how)).ok);
}

TEST_F(ApiTest, CompiledCodeIsALibraryOfThisProcess) {
  Options options = portable();
  const Model model = ok(Model::load(kModel, options));
  const std::string out = (folder_ / "out").string();
  const CompiledModel compiled = ok(model.build(out, {.compiler = "", .flags = "-O1"}));
  const auto input = digit();
  EXPECT_TRUE(same(ok(compiled.run({input[0]})), ok(model.run(input))));
  EXPECT_EQ(compiled.report().name, "digits");
  EXPECT_EQ(ok(compiled.benchmark({input[0]}, 5)).runs, 5);
  Array other_shape = input[0], other_type = input[0];
  other_shape.shape = {1, 1, 4, 8};
  other_shape.data.resize(4 * 8 * 4);
  other_type.type = "i32";
  for (const ArrayViews& bad : {ArrayViews{}, ArrayViews{input[0], input[0]},
                                ArrayViews{other_shape}, ArrayViews{other_type}}) {
    const auto result = compiled.run(bad);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.diagnostic().code, "input");
    EXPECT_FALSE(compiled.benchmark(bad, 1));
  }
  // The same folder again: the new code is called, not the one that is loaded.
  options.rules_file = "examples/digits/rules.toml";
  const Model quantized = ok(Model::load(kModel, options));
  const CompiledModel other = ok(quantized.build(out, {.compiler = "", .flags = "-O1"}));
  EXPECT_TRUE(same(ok(other.run({input[0]})), ok(quantized.run(input))));
  EXPECT_FALSE(same(ok(other.run({input[0]})), ok(compiled.run({input[0]}))));
}

TEST_F(ApiTest, WithoutFloatsIsAnOptionThatMayComeLater) {
  // A model that brings an arithmetic of floats: only its softmax has no form in integers, whether
  // the option is there when it is loaded or not.
  const std::string quantized = "tests/models/micro_kws_m_qoperator.onnx";
  Options options;
  options.no_float = true;
  const Model at_once = ok(Model::load(quantized, options));
  const Model later = ok(ok(Model::load(quantized)).with(options));
  for (const Model* model : {&at_once, &later}) {
    const auto refused = model->compile(folder_ / "kws");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.diagnostic().notes.size(), 2u) << refused.diagnostic().message;
    EXPECT_NE(refused.diagnostic().notes[0].find("softmax"), std::string::npos);
  }
  // Without a target it is portable.
  options.name = "digits";
  options.rules_file = "examples/digits/rules.toml";
  ok(ok(Model::load(kModel, options)).compile(folder_ / "default"));
  options.target = "portable";
  ok(ok(Model::load(kModel, options)).compile(folder_ / "named"));
  expect_same_files(folder_ / "default", folder_ / "named");
}

TEST_F(ApiTest, ArraysThatDoNotFitAreErrors) {
  const Model model = ok(Model::load(kModel));
  const auto code = [&](const std::vector<Array>& arrays) {
    const auto result = model.run(arrays);
    return result ? std::string("none") : result.diagnostic().code;
  };
  auto x = digit()[0];
  EXPECT_EQ(code({}), "input");
  EXPECT_EQ(code({x, x}), "input");
  Array shape = x;
  shape.shape = {1, 1, 4, 16};
  EXPECT_EQ(code({shape}), "input");
  Array few = x;
  few.data.resize(4);
  EXPECT_EQ(code({few}), "input");
  Array type = x;
  type.type = "i32";
  EXPECT_EQ(code({type}), "input");
  type.type = "complex";
  EXPECT_EQ(code({type}), "input");
  Array name = x;
  name.name = "picture";
  EXPECT_EQ(code({name}), "input");
}

TEST_F(ApiTest, ThreadsShareAModel) {
  const Model model = ok(Model::load(kModel));
  const auto expected = ok(model.run_reference(digit()));
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) {
        const auto got = t == 0 && i == 2 ? model.run_reference(digit()) : model.run(digit());
        if (!got || !same(*got, expected)) ++wrong;
        if (t == 1 && i == 1 && !model.text()) ++wrong;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Api, ACallEndsWhenTheCheckSaysSo) {
  const Model model = ok(Model::load(kModel, portable()));
  const auto message = [&](auto&& call) {
    std::string out = "done";
    std::thread([&] {  // which has not asked yet
      if (const auto result = call(); !result) out = result.diagnostic().message;
    })
        .join();
    return out;
  };
  const auto load = [] { return Model::load(kModel, portable()); };
  const auto run = [&] { return model.run_reference(digit()); };
  set_interrupt_check([] { return true; });
  EXPECT_NE(message(load).find(": interrupted: "), std::string::npos) << message(load);
  EXPECT_NE(message(run).find(": interrupted: "), std::string::npos) << message(run);
  set_interrupt_check([] { return false; });
  EXPECT_EQ(message(run), "done");
  set_interrupt_check(nullptr);
  EXPECT_EQ(message(load), "done");
}

}  // namespace
}  // namespace quantc
