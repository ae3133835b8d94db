// What the library can do, one part after the other: use_library MODEL FOLDER. Files are written
// into FOLDER and beside it.
#include <quantc/quantc.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace {

using Arrays = std::vector<quantc::Array>;

/// The value, or the end of the program with what went wrong.
template <class T>
T need(quantc::Expected<T> expected) {
  if (expected) return std::move(*expected);
  std::fprintf(stderr, "%s\n", expected.diagnostic().message.c_str());
  std::exit(static_cast<int>(expected.diagnostic().kind));
}

quantc::Model loaded(const std::string& text) {
  return need(quantc::Model::load(text.data(), text.size(), "example.ir"));
}

/// A ramp for each input of f32 with known sizes; with `count` that many along a first axis of
/// their own.
Arrays ramps(const quantc::Model& model, int64_t count) {
  Arrays out;
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

quantc::ArrayViews views(const Arrays& arrays) { return {arrays.begin(), arrays.end()}; }

const char* compared(const Arrays& a, const Arrays& b) {
  return a.size() == b.size() && a[0].data == b[0].data ? "equal" : "differs";
}

/// Loading from a file and from its bytes; running by the kernels for this machine and in the
/// reference interpreter; results in memory of one's own.
void load_and_run(const char* path, const quantc::Model& model, const Arrays& inputs) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  const std::string memory = bytes.str();
  const quantc::Model copy = need(quantc::Model::load(memory.data(), memory.size(), "copy"));
  const Arrays outputs = need(model.run(inputs));
  std::printf("interpreter %s, from memory %s\n",
              compared(outputs, need(model.run_reference(inputs))),
              compared(outputs, need(copy.run(inputs))));

  std::vector<float> result;
  const quantc::ArrayViews own = need(model.run(views(inputs), [&](size_t bytes) -> void* {
    result.resize(bytes / sizeof(float));
    return result.data();
  }));
  const bool same = own[0].data == result.data() && result[0] == outputs[0].as<float>()[0];
  std::printf("own memory %s, %zu outputs\n", same ? "equal" : "differs", model.outputs().size());

  // What passes made of the network for these sizes is kept for the next run.
  std::printf("forms: %zu kept, hit rate %.2f\n", model.program_cache().count,
              model.program_cache().hit_rate);
  model.limit_program_cache(0, 0);
  std::printf("forms: %zu kept\n", model.program_cache().count);
}

/// Sizes that each run chooses, within a range; options are changed without loading again.
void choose_sizes(const std::string& folder) {
  const quantc::Model model =
      loaded("graph (%0 \"x\" : f32[n, 2]) { %1 = neg(%0) return %1 \"y\" }");
  quantc::Options options = model.options();
  options.target = "portable";
  options.name = "rows";
  options.ranges["n"].max = 8;
  const quantc::CompiledModel compiled = need(need(model.with(options)).build(folder + "_rows"));
  for (const int64_t n : {2, 5}) {
    const std::vector<float> values(static_cast<size_t>(2 * n), -1.0f);
    const Arrays x = {quantc::Array::of("x", "f32", {n, 2}, values)};
    const Arrays y = need(compiled.run(views(x)));
    std::printf("%lld rows %s\n", static_cast<long long>(y[0].shape[0]),
                compared(y, need(model.run(x))));
  }
  const std::vector<float> many(18);
  const auto refused = compiled.run({quantc::Array::of("x", "f32", {9, 2}, many)});
  std::printf("9 rows: %s\n", refused ? "taken" : refused.diagnostic().code.c_str());
}

/// State is kept from run to run of compiled code.
void keep_state(const std::string& folder) {
  quantc::Options options;
  options.target = "portable";
  options.name = "counter";
  const quantc::Model model = need(loaded("@zero : f32[1] = [0]\n"
                                          "graph (%0 \"x\" : f32[1]) {\n"
                                          "  state %1 \"sum\" : f32[1] = @zero\n"
                                          "  %2 = add(%0, %1)\n"
                                          "  next %1 = %2\n"
                                          "  return %2 \"y\"\n"
                                          "}\n")
                                       .with(options));
  const quantc::CompiledModel counter = need(model.build(folder + "_counter"));
  const Arrays one = {quantc::Array::of("x", "f32", {1}, std::vector<float>{1})};
  const auto sum = [&](const quantc::CompiledModel& of) {
    return need(of.run(views(one)))[0].as<float>()[0];
  };
  sum(counter);
  const quantc::CompiledModel branch = counter.copy();
  const float second = sum(counter), same = sum(branch);
  counter.reset();
  std::printf("counter: %g, its copy %g, after a reset %g\n", second, same, sum(counter));
}

/// A pass of one's own: no result of a convolution is above a limit, and biases are scaled.
class Limit final : public quantc::Pass {
 public:
  Limit(std::string most, float scale) : most_(std::move(most)), scale_(scale) {}
  std::string name() const override { return "limit"; }
  quantc::Expected<quantc::Done> run(quantc::GraphEditor& graph) const override {
    for (const quantc::GraphNode& node : graph.nodes()) {
      if (node.op != "conv") continue;
      const quantc::ValueId y = node.outputs[0];
      const auto limited = graph.insert("clamp", {y}, {{"lo", "-inf"}, {"hi", most_}});
      if (!limited) return limited.diagnostic();
      if (auto done = graph.replace(y, (*limited)[0]); !done) return done;
      if (node.inputs.size() < 3 || node.inputs[2] == quantc::kNoValue) continue;
      if (auto done = scale(graph, node.inputs[2]); !done) return done;
    }
    // An inserted node that nobody reads may go again.
    const auto extra = graph.insert("neg", {graph.outputs()[0]});
    if (!extra) return extra.diagnostic();
    return graph.erase((*extra)[0]);
  }

 private:
  quantc::Expected<quantc::Done> scale(quantc::GraphEditor& graph, quantc::ValueId bias) const {
    const auto seen = graph.value(bias);
    if (!seen) return seen.diagnostic();
    if (!seen->constant || seen->type != "f32") return quantc::Done{};
    const auto elements = graph.elements(bias);
    if (!elements) return elements.diagnostic();
    std::vector<float> scaled(elements->data.size() / sizeof(float));
    for (size_t i = 0; i < scaled.size(); ++i) scaled[i] = elements->as<float>()[i] * scale_;
    const auto made = graph.constant(quantc::Array::of("", "f32", elements->shape, scaled));
    if (!made) return made.diagnostic();
    return graph.replace(bias, *made);
  }

  std::string most_;
  float scale_;
};

void change(const quantc::Model& model, const Arrays& inputs) {
  const Arrays outputs = need(model.run(inputs));
  const quantc::Model wide = need(model.transform(Limit("1e9", 1)));
  const quantc::Model narrow = need(model.transform(Limit("0.01", 1)));
  const quantc::Model biased = need(model.transform(Limit("1e9", 2)));
  std::printf("limits: %s, %s, %s\n", compared(outputs, need(wide.run(inputs))),
              compared(outputs, need(narrow.run(inputs))),
              compared(outputs, need(biased.run(inputs))));
}

/// A rule of one's own: linear layers have the scales that another rule gives them.
class Linear final : public quantc::Rule {
 public:
  explicit Linear(quantc::RuleSpec spec) : spec_(std::move(spec)) {}
  bool matches(const quantc::NodeView& node) const override { return node.op == "linear"; }
  quantc::RuleSpec scheme(const quantc::NodeView&) const override { return spec_; }
  std::string origin() const override { return "Linear"; }

 private:
  quantc::RuleSpec spec_;
};

/// Rules as values, as a file, as text, and as a class.
quantc::Model quantize(const quantc::Model& model, const std::string& folder) {
  quantc::CalibrationOptions how;
  how.per_channel = true;
  const quantc::Calibration found = need(model.calibrate(views(ramps(model, 4)), how));
  const std::string saved = need(found.save(folder + "_rules.toml", true));
  const std::vector<quantc::RuleSpec> read = need(quantc::read_rules(saved));
  need(quantc::save_rules(read, folder + "_again.toml", true));
  quantc::Rules rules;
  for (const quantc::RuleSpec& spec : read) rules.push_back(quantc::rule_of(spec));
  std::printf("%zu rules, the first for '%s'\n", rules.size(), rules[0]->values()->pattern.c_str());

  const auto mine = need(
      quantc::parse_rules("[[rule]]\npattern = '.*'\nkind = 'dynamic'\ndtype = 'int8'\n", "mine"));
  const auto linear = std::make_shared<const Linear>(mine[0]);
  const quantc::Model dynamic = need(model.quantize({linear}));
  std::printf("of a class: %s\n", need(dynamic.explain()).totals.c_str());
  return need(model.quantize(rules));
}

/// Nodes with their neighbours, and the numbers of a quantized result.
void look_at_nodes(const quantc::Model& model, const quantc::Explanation& explanation) {
  for (const quantc::NodeView& node : need(model.nodes())) {
    if (node.op != "linear") continue;
    const auto producers = node.producers(), users = node.users();
    std::printf("linear: %zu producer of op %s, %zu users\n", producers.size(),
                producers[0].op.c_str(), users.size());
  }
  for (const quantc::NodeExplanation& node : explanation.nodes) {
    if (node.op != "qlinear" || !node.input_qparams[0]) continue;
    const quantc::QuantParams& codes = *node.input_qparams[0];
    std::printf("qlinear reads %s: %zu scale, %zu zero point\n", codes.dtype.c_str(),
                codes.scale().size(), codes.zero_point().size());
  }
}

/// What became of the layers: in words, in figures, and against what was expected.
void look(const quantc::Model& model, const quantc::Model& quantized, const Arrays& inputs) {
  const quantc::Explanation explanation = need(quantized.explain());
  look_at_nodes(model, explanation);
  std::printf("%s; a table of %s\n", explanation.totals.c_str(),
              explanation.table(100).empty() ? "nothing" : "text");
  for (const std::string& warning : quantized.warnings()) std::printf("%s\n", warning.c_str());

  const quantc::Analysis analysis = need(quantized.analyze(views(ramps(model, 4)), "Digits"));
  std::printf("worst layer: %s; the page has %s\n", analysis.layers[0].op.c_str(),
              analysis.page.empty() ? "nothing" : "plots");
  std::printf("layers: %zu\n", need(quantized.layers(views(inputs))).size());

  // Generated code equals the interpreter bit for bit; the float model is what was expected.
  quantc::ValidateOptions how;
  how.targets = {"portable"};
  how.atol = 10;
  how.per_layer = true;
  const quantc::Validation checked =
      need(quantized.validate(views(inputs), views(need(model.run(inputs))), how));
  std::printf("valid: %s, %s layers compared\n", checked.ok ? "yes" : "no",
              checked.layers.empty() ? "no" : "all");

  // The graph as text is a model too.
  std::printf("text %s\n", compared(need(quantized.run(inputs)),
                                    need(loaded(need(quantized.text(true))).run(inputs))));
}

/// The C project; and the same built and called.
void compile(const quantc::Model& model, const quantc::Model& quantized, const Arrays& inputs,
             const std::string& folder) {
  const quantc::CompiledModel compiled = need(quantized.build(folder + "_quantized"));
  const quantc::Timing timing = need(compiled.benchmark(views(inputs), 10));
  std::printf("compiled %s, %lld calls in order: %s\n",
              compared(need(quantized.run(inputs)), need(compiled.run(views(inputs)))),
              static_cast<long long>(timing.runs), timing.least <= timing.median ? "yes" : "no");
  std::printf("%s in %s\n", compiled.report().name.c_str(),
              compiled.folder() == folder + "_quantized" ? "its folder" : "another folder");
  const quantc::Report report = need(model.compile(folder, views(inputs)));
  std::printf("%s: arena %lld bytes, weights %lld bytes\n", report.name.c_str(),
              static_cast<long long>(report.arena_bytes),
              static_cast<long long>(report.weight_bytes));
}

/// A long call asks now and then whether it should end.
void interrupt(const quantc::Model& model, const Arrays& inputs) {
  quantc::set_interrupt_check([] { return true; });
  const auto ended = model.run_reference(inputs);
  quantc::set_interrupt_check(nullptr);
  std::printf("reference run: %s\n", ended ? "finished" : ended.diagnostic().code.c_str());
}

/// An op of one's own: what it computes, and the C text of its kernel.
void own_op() {
  quantc::OwnOp op;
  op.name = "example::scaled";
  op.inputs = {{"x", "f32"}};
  op.outputs = {{"y", "f32"}};
  op.parameters = {{"by", 2.0, {}}};
  op.shape = [](const quantc::OpValues&, const quantc::OpShapes& in) { return in; };
  op.evaluate = [](const quantc::OpValues& values, const quantc::ArrayViews& in) {
    const auto* x = static_cast<const float*>(in[0].data);
    std::vector<float> y(x, x + in[0].bytes / sizeof(float));
    for (float& v : y) v *= static_cast<float>(std::get<double>(values.at("by")));
    return Arrays{quantc::Array::of("y", "f32", in[0].shape, y)};
  };
  op.c = "for (int32_t i = 0; i < p->x_size; ++i) y[i] = qn_mulf(x[i], p->by);";
  need(quantc::add_op(op));
  const quantc::Model model =
      loaded("graph (%0 \"x\" : f32[3]) { %1 = example.scaled(%0) {by = 0.1} return %1 \"y\" }");
  const Arrays inputs = ramps(model, 0);
  std::printf("own op: %s\n", compared(need(model.run(inputs)), need(model.run_reference(inputs))));
  op.c = "y[0] =\n  z;";
  std::printf("its text: %s\n", quantc::add_op(op).diagnostic().text.substr(0, 42).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: use_library MODEL FOLDER\n");
    return 1;
  }
  const std::string folder = argv[2];
  const quantc::Model model = need(quantc::Model::load(argv[1]));
  const Arrays inputs = ramps(model, 0);
  load_and_run(argv[1], model, inputs);
  choose_sizes(folder);
  keep_state(folder);
  change(model, inputs);
  interrupt(model, inputs);
  const quantc::Model quantized = quantize(model, folder);
  look(model, quantized, inputs);
  compile(model, quantized, inputs, folder);
  own_op();
  return 0;
}
