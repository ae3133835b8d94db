// Golden tests of passes: golden [--bless] FOLDER. The folder's name is the pass (or `pipeline` for
// all of them). Each NAME.ir goes through it and must print as NAME.expected.ir; running it again
// must change nothing; and both graphs must give the same outputs on random inputs, to the bit or,
// with a first line `// within 1e-5`, so near relative to the larger of 1 and the expected
// magnitude. With a first line `// ports change` the graphs have other inputs or outputs and are
// not run. With a first line `// after PASS` that pass runs before. With a first line `// buckets
// SYMBOL SIZE SIZE ...` a dimension has those, in the first run. Where NAME.toml stands beside it,
// its rules are noted first, and the pass runs once: rules are matched with graphs that are not
// quantized yet.
#include "tests/support/golden.h"

#include <sstream>

#include "interp/interpreter.h"
#include "ir/text.h"
#include "ops/common/registration.h"
#include "passes/note_rules.h"
#include "passes/pipeline.h"
#include "quant/rule.h"
#include "quant/rule_file.h"
#include "quant/rules.h"
#include "tests/ops/cases.h"

namespace fs = std::filesystem;
using namespace qc;

namespace {

using BucketMap = std::map<std::string, PassContext::Buckets>;

BucketMap buckets_in(const std::string& text) {
  std::istringstream words(text.substr(0, text.find('\n')));
  std::string comment, what, symbol;
  if (!(words >> comment >> what >> symbol) || what != "buckets") return {};
  BucketMap out;
  for (int64_t size = 0; words >> size;) out[symbol].sizes.push_back(size);
  return out;
}

Result<bool> run_named(const std::string& name, Graph& graph, const RuleSet* rules,
                       const BucketMap& buckets = {}) {
  PassContext context;
  context.rules = rules;
  context.buckets = buckets;
  bool changed = false;
  if (rules) {
    QC_TRY(note_rules(graph, context));
  }
  if (name == "pipeline") {
    PassOptions options;
    options.verify = true;
    options.observe = [&](const Pass&, bool c, double, const Graph&) { changed = changed || c; };
    QC_TRY(run_passes(graph, options, context));
    return changed;
  }
  for (const Pass& pass : pipeline()) {
    if (pass.name != name) continue;
    QC_ASSIGN(changed, run_pass(pass, graph, context));
    QC_TRY(verify(graph));
    return changed;
  }
  return error(Code::usage, "there is no pass '{}'", name);
}

/// Empty when both graphs compute the same.
std::string compare(const Graph& before, const Graph& after, double within) {
  std::vector<Tensor> inputs;
  for (const Value* v : before.inputs()) {
    if (!all_static(v->shape())) return {};
    inputs.push_back(
        qc::testing::random_tensor(v->dtype(), static_dims(v->shape()), inputs.size() + 1));
  }
  auto expected = interpret(before, inputs);
  if (!expected.ok()) return "before: " + render(expected.diag());
  auto got = interpret(after, inputs);
  if (!got.ok()) return "after: " + render(got.diag());
  if (got->outputs.size() != expected->outputs.size()) return "another number of outputs";
  for (size_t i = 0; i < got->outputs.size(); ++i) {
    if (within == 0 && got->outputs[i].identical(expected->outputs[i])) continue;
    std::string text = qc::testing::difference(got->outputs[i], {expected->outputs[i], within});
    if (!text.empty()) return "output " + std::to_string(i) + ": " + text;
    if (within == 0) return "output " + std::to_string(i) + " has other bits";
  }
  return {};
}

std::string check(const std::string& pass, const fs::path& file, bool bless) {
  const std::string text = qc::testing::read_text_of(file);
  double within = 0;
  if (text.starts_with("// within ")) within = std::atof(text.c_str() + 10);
  auto before = parse(text, {.file = file.string(), .side = nullptr});
  if (!before.ok()) return render(before.diag());
  constexpr std::string_view kAfter = "// after ";
  if (text.starts_with(kAfter)) {
    const std::string first = text.substr(kAfter.size(), text.find('\n') - kAfter.size());
    if (auto prepared = run_named(first, **before, nullptr); !prepared.ok())
      return render(prepared.diag());
  }
  auto after = copy(**before);
  if (!after.ok()) return render(after.diag());
  fs::path toml = file;
  toml.replace_extension(".toml");
  std::unique_ptr<RuleSet> rules;
  if (fs::exists(toml)) {
    auto specs = read_rules(toml.string());
    if (!specs.ok()) return render(specs.diag());
    rules = std::make_unique<RuleSet>();
    for (const auto& spec : *specs) {
      auto rule = make_rule(spec);
      if (!rule.ok()) return render(rule.diag());
      rules->rules.push_back(std::move(*rule));
    }
  }
  auto changed = run_named(pass, **after, rules.get(), buckets_in(text));
  if (!changed.ok()) return render(changed.diag());
  const std::string printed = print(**after);
  if (!*changed && printed != print(**before))
    return "the pass changed the graph and says it did not";
  fs::path golden = file;
  golden.replace_extension(".expected.ir");
  if (bless) std::ofstream(golden, std::ios::binary) << printed;
  const std::string wanted = qc::testing::read_text_of(golden);
  if (printed != wanted) return "expected:\n" + wanted + "got:\n" + printed;
  if (rules) return compare(**before, **after, within);
  auto again = run_named(pass, **after, nullptr);
  if (!again.ok()) return "second run: " + render(again.diag());
  if (print(**after) != printed) return "a second run changes it:\n" + print(**after);
  if (text.starts_with("// ports change")) return {};
  return compare(**before, **after, within);
}

}  // namespace

int main(int argc, char** argv) {
  register_all_ops();
  return qc::testing::run_goldens(argc, argv, check);
}
