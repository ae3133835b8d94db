// What the library can do, one after the other: use_library MODEL FOLDER. It loads a model, runs
// it, changes it, finds scales for it, quantizes it by them, looks at what became of it, and
// compiles it.
#include <quantc/quantc.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace {

/// The value, or the end of the program with what went wrong.
template <class T>
T need(quantc::Expected<T> expected) {
  if (expected) return std::move(*expected);
  std::fprintf(stderr, "%s\n", expected.diagnostic().message.c_str());
  std::exit(static_cast<int>(expected.diagnostic().kind));
}

/// `count` arrays of a ramp for each input of f32 with known sizes, along a first axis of their
/// own.
std::vector<quantc::Array> ramps(const quantc::Model& model, int64_t count) {
  std::vector<quantc::Array> out;
  for (const quantc::Port& port : model.inputs()) {
    std::vector<int64_t> shape;
    size_t elements = 1;
    for (const std::string& size : port.shape) {
      shape.push_back(std::atoll(size.c_str()));
      elements *= static_cast<size_t>(shape.back());
    }
    if (count > 0) {
      shape.insert(shape.begin(), count);
      elements *= static_cast<size_t>(count);
    }
    std::vector<float> values(elements);
    for (size_t i = 0; i < elements; ++i) values[i] = static_cast<float>(i % 100) / 100.0f;
    out.push_back(quantc::Array::of(port.name, port.type, shape, values));
  }
  return out;
}

quantc::ArrayViews views(const std::vector<quantc::Array>& arrays) {
  return {arrays.begin(), arrays.end()};
}

/// A pass of one's own: no result of a convolution is above a limit.
class Limit final : public quantc::Pass {
 public:
  explicit Limit(std::string most) : most_(std::move(most)) {}
  std::string name() const override { return "limit"; }
  quantc::Expected<quantc::Done> run(quantc::GraphEditor& graph) const override {
    for (const quantc::GraphNode& node : graph.nodes()) {
      if (node.op != "conv") continue;
      const quantc::ValueId y = node.outputs[0];
      const auto limited = graph.insert("clamp", {y}, {{"lo", "-inf"}, {"hi", most_}});
      if (!limited) return limited.diagnostic();
      if (auto done = graph.replace(y, (*limited)[0]); !done) return done;
    }
    return quantc::Done{};
  }

 private:
  std::string most_;
};

bool same(const std::vector<quantc::Array>& a, const std::vector<quantc::Array>& b) {
  return a.size() == b.size() && a[0].data == b[0].data;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: use_library MODEL FOLDER\n");
    return 1;
  }
  const std::string folder = argv[2];

  // Load: from a file, or from its bytes.
  const quantc::Model model = need(quantc::Model::load(argv[1]));
  std::ifstream file(argv[1], std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  const std::string memory = bytes.str();
  const quantc::Model copy = need(quantc::Model::load(memory.data(), memory.size(), "copy"));

  // Run: by the kernels for this machine, and in the reference interpreter.
  const std::vector<quantc::Array> inputs = ramps(model, 0);
  const std::vector<quantc::Array> outputs = need(model.run(inputs));
  std::printf("interpreter %s, from memory %s\n",
              same(outputs, need(model.run_reference(inputs))) ? "equal" : "differs",
              same(outputs, need(copy.run(inputs))) ? "equal" : "differs");
  need(model.run(inputs));
  std::printf("forms: %zu kept, hit rate %.2f\n", model.forms().count, model.forms().hit_rate);

  // Change the network by a pass: a limit that nothing reaches changes no bit, another one does.
  const quantc::Model wide = need(model.transform(Limit("1e9")));
  const quantc::Model narrow = need(model.transform(Limit("0.01")));
  std::printf("limits: %s, %s\n", same(outputs, need(wide.run(inputs))) ? "equal" : "differs",
              same(outputs, need(narrow.run(inputs))) ? "equal" : "differs");

  // Calibrate, and quantize by what was found.
  quantc::CalibrationOptions how;
  how.per_channel = true;
  const quantc::Calibration found = need(model.calibrate(views(ramps(model, 4)), how));
  quantc::Rules rules;
  for (const quantc::RuleSpec& spec : found.rules) rules.push_back(quantc::rule_of(spec));
  const quantc::Model quantized = need(model.quantize(rules));
  need(found.save(folder + "_rules.toml", true));

  // Explain: every node as a value, or all as a table.
  const quantc::Explanation explanation = need(quantized.explain());
  std::printf("%s\n", explanation.totals.c_str());

  // The graph as text is a model too.
  const std::string text = need(quantized.text(true));
  const quantc::Model again = need(quantc::Model::load(text.data(), text.size(), "again.ir"));
  std::printf("text %s\n",
              same(need(quantized.run(inputs)), need(again.run(inputs))) ? "equal" : "differs");

  // Validate: interpreter and generated code, bit for bit.
  const quantc::Validation validation = need(quantized.validate(views(inputs)));
  std::printf("valid: %s\n", validation.ok ? "yes" : "no");

  // Compile; and compile, build and call.
  const quantc::CompiledModel compiled = need(quantized.build(folder + "_quantized"));
  std::printf("compiled %s\n", same(need(quantized.run(inputs)), need(compiled.run(views(inputs))))
                                   ? "equal"
                                   : "differs");
  const quantc::Report report = need(model.compile(folder));
  std::printf("%s: %zu outputs, arena %lld bytes, weights %lld bytes\n", report.name.c_str(),
              outputs.size(), static_cast<long long>(report.arena_bytes),
              static_cast<long long>(report.weight_bytes));
  return 0;
}
