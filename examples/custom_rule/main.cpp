// Quantizes a model with a rule class of its own: custom_rule MODEL FOLDER.
// Layers with few weights gain nothing from codes and stay float; the others compute on codes whose
// scales are found at run time.
#include <quantc/quantc.h>

#include <cstdio>

namespace {

class ByWeightCount final : public quantc::Rule {
 public:
  explicit ByWeightCount(int64_t least) : least_(least) {}

  bool matches(const quantc::NodeView& node) const override {
    return node.op == "conv" || node.op == "linear";
  }
  quantc::RuleSpec scheme(const quantc::NodeView& node) const override {
    int64_t weights = 1;
    for (int64_t size : node.operands[1].shape) weights *= size;
    quantc::RuleSpec spec;
    spec.kind = weights < least_ ? "float" : "dynamic";
    spec.per_channel = true;
    return spec;
  }
  std::string origin() const override { return "ByWeightCount"; }

 private:
  int64_t least_;
};

int count(const std::string& text, const char* part) {
  int found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

int report(const quantc::Diagnostic& diagnostic) {
  std::fprintf(stderr, "%s\n", diagnostic.message.c_str());
  return static_cast<int>(diagnostic.kind);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: custom_rule MODEL FOLDER\n");
    return 1;
  }
  quantc::Options options;
  options.own_rules.push_back(std::make_shared<ByWeightCount>(1000));
  auto model = quantc::Model::load(argv[1], options);
  if (!model) return report(model.diagnostic());
  auto text = model->text();
  if (!text) return report(text.diagnostic());
  std::printf("%d convolutions in float, %d on codes\n", count(*text, "= conv("),
              count(*text, "= qconv("));
  auto made = model->compile(argv[2]);
  if (!made) return report(made.diagnostic());
  std::printf("%s: weights %lld bytes\n", made->name.c_str(),
              static_cast<long long>(made->weight_bytes));
  return 0;
}
