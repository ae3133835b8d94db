// Rules of every kind on every op: a node becomes its form on codes, stays as it was, or is an
// error that names it. No float op reads what a rule quantized for it.
#include "quant/rules.h"

#include <gtest/gtest.h>

#include <set>

#include "driver/explain.h"
#include "passes/pipeline.h"
#include "passes/quantized_ops.h"
#include "quant/lifting.h"
#include "quant/quantizable.h"
#include "tests/random/sampling.h"

namespace qc {
namespace {

RuleSpec rule(const std::string& kind) {
  RuleSpec spec;
  spec.pattern = ".*";
  spec.kind = kind;
  spec.origin = "rules:1";
  return spec;
}

std::map<std::string, RuleSpec> rules() {
  std::map<std::string, RuleSpec> out;
  for (const char* dtype : {"int8", "uint8", "int16"}) {
    RuleSpec& spec = out[std::string("static ") + dtype] = rule("static");
    spec.dtype = dtype;
    spec.scale = {0.05};
    spec.input_scale = {0.04};
    if (spec.dtype == "uint8") spec.offset = spec.input_offset = {128};
  }
  RuleSpec& floats = out["static to float32"] = rule("static");
  floats.output_dtype = "float32";
  floats.input_scale = {0.04};
  out["dynamic"] = rule("dynamic");
  (out["dynamic per token"] = rule("dynamic")).per_token = true;
  (out["dynamic, 16 bits"] = rule("dynamic")).dtype = "int16";
  (out["dynamic per channel"] = rule("dynamic")).per_channel = true;
  out["weight_only"] = rule("weight_only");
  for (const char* kind : {"dynamic", "weight_only"}) {
    RuleSpec& spec = out[std::string(kind) + " int4 groups"] = rule(kind);
    spec.weight_dtype = "int4";
    spec.group = 2;
  }
  return out;
}

/// Whether the value decodes what a quantize made of floats.
bool is_rounded(const Value* v) {
  const Node* d = v ? decoder(const_cast<Value*>(v)) : nullptr;
  Node* made = d ? d->input(0)->def() : nullptr;
  return made && (capability<IsQuantize>(made) || capability<MakesCodes>(made)) &&
         made->input_type(0).dtype == DType::f32;
}

/// The first float node that reads what a rule quantized; null for none.
const Node* rounded_float(const Graph& graph) {
  for (const Node* n = graph.first(); n; n = n->next()) {
    if (computes(*n) != Computes::floats) continue;
    for (const Value* v : n->inputs()) {
      if (is_rounded(v)) return n;
    }
  }
  return nullptr;
}

/// A graph with a use of the op, every node named; null where it has codes of its own.
std::unique_ptr<Graph> use_of(const std::string& op, const Sampler& sampler, uint64_t seed) {
  Sampling s(seed);
  s.input(DType::f32, s.shape(s.between(1, 4), 200));
  sampler(s);
  add_outputs(s);
  std::unique_ptr<Graph> graph = s.take();
  bool used = false;
  size_t number = 0;
  for (Node* n : graph->nodes()) {
    used = used || n->op() == op;
    if (dynamic_cast<const QuantNode*>(n) || dynamic_cast<const ChangesCodes*>(n) ||
        capability<IsDequantize>(n) || n->info().has(kHasRegions))
      return nullptr;
    for (size_t i = 0; i < n->output_count(); ++i) {
      if (n->output(i)->type().format) return nullptr;
    }
    graph->set_loc(n, Loc{"", {"node_" + std::to_string(number++)}, {}});
  }
  return used ? std::move(graph) : nullptr;
}

struct Outcome {
  bool refused = false, quantized = false;
};

Outcome apply(const Graph& model, RuleSpec spec, bool skip, const std::string& what) {
  spec.skip_unsupported = skip;
  RuleSet set;
  set.allow_unused = true;
  auto made = make_rule(spec);
  EXPECT_TRUE(made.ok()) << what;
  set.rules.push_back(std::move(*made));
  auto graph = copy(model);
  EXPECT_TRUE(graph.ok());
  PassContext context;
  context.rules = &set;
  PassOptions options;
  options.last = PassStage::quantize;
  options.verify = true;
  auto done = run_passes(**graph, options, context);
  Outcome out;
  if (!done.ok()) {
    out.refused = true;
    const Diag& diag = done.diag();
    EXPECT_TRUE(diag.code == Code::rule || diag.code == Code::quant) << what << render(diag);
    const bool too_little = render(diag).find("no input_scale says") != std::string::npos;
    EXPECT_FALSE(skip && diag.code == Code::rule && !too_little) << what << render(diag);
    EXPECT_NE(render(diag).find("node_"), std::string::npos) << what << render(diag);
    return out;
  }
  out.quantized = totals(**graph)[Computes::integer] > 0;
  const Node* wrong = rounded_float(**graph);
  EXPECT_EQ(wrong, nullptr) << what << ": " << wrong->op() << " computes on rounded values";
  return out;
}

TEST(Rules, MakeNoFloatOpReadRoundedValues) {
  const auto kinds = rules();
  std::set<std::string> refused, quantized;
  for (const auto& [op, sampler] : samplers().all()) {
    int uses = 0;
    for (uint64_t seed = 1; seed <= 12 && uses < 4; ++seed) {
      const std::unique_ptr<Graph> model = use_of(op, sampler, seed);
      if (!model) continue;
      ++uses;
      for (const auto& [kind, spec] : kinds) {
        for (const bool skip : {false, true}) {
          const Outcome got = apply(
              *model, spec, skip,
              op + ", " + kind + ", seed " + std::to_string(seed) + (skip ? ", skip: " : ": "));
          if (got.refused) refused.insert(op);
          if (got.quantized) quantized.insert(op);
        }
      }
    }
  }
  for (const char* op : {"conv", "conv_transpose", "linear", "matmul", "add", "attention"})
    EXPECT_TRUE(quantized.contains(op)) << op;
  EXPECT_GT(refused.size(), 0u);
}

}  // namespace
}  // namespace qc
