// store_unsigned changes no bit of any output, and reaches the activations of a network. The number
// of random graphs comes from QUANTC_UNSIGNED_GRAPHS (default 300).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "driver/arrays.h"
#include "driver/compile.h"
#include "driver/load.h"
#include "interp/interpreter.h"
#include "ir/text.h"
#include "ops/common/registration.h"
#include "program/run.h"
#include "target/target.h"
#include "tests/random/agree.h"
#include "tests/random/quantized.h"
#include "tests/support/variants.h"

namespace qc {
namespace {

const std::string kVectors = "tests/quantized/vectors/";

/// Results of nodes that are codes, by type.
std::map<DType, int> code_types(const Graph& graph) {
  std::map<DType, int> out;
  for (const Node* n = graph.first(); n; n = n->next()) {
    for (size_t i = 0; i < n->output_count(); ++i) {
      if (n->output(i)->type().format) ++out[n->output(i)->dtype()];
    }
  }
  return out;
}

/// Runs the pass on a copy of the contract graph and compares: interpreted, and as a program.
/// Returns how many values became unsigned.
Result<int> expect_same_bits(const Graph& contract, const std::vector<Tensor>& inputs) {
  QC_ASSIGN(const RunResult expected, interpret(contract, inputs));
  QC_ASSIGN(auto stored, copy(contract));
  QC_ASSIGN(const Pass* pass, find_pass("store_unsigned"));
  PassContext context;
  QC_ASSIGN(const bool changed, run_pass(*pass, *stored, context));
  QC_TRY(verify(*stored));
  const int count = code_types(*stored)[DType::u8] - code_types(contract)[DType::u8];
  EXPECT_EQ(changed, print(*stored) != print(contract));
  QC_ASSIGN(const RunResult interpreted, interpret(*stored, inputs));
  EXPECT_EQ(first_difference(interpreted.outputs, expected.outputs), "");
  Options portable;
  portable.target = "portable";
  QC_ASSIGN(const Program program, make_program(*stored, portable));
  QC_ASSIGN(const auto run, run_program(program, inputs));
  EXPECT_EQ(first_difference(run.outputs, expected.outputs), "");
  return count;
}

/// The first set of inputs recorded for a model of tests/quantized/vectors.
Result<std::vector<Tensor>> recorded_inputs(const std::string& name) {
  QC_ASSIGN(const std::vector<NamedArray> arrays, read_npz(kVectors + name + ".npz"));
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < arrays.size(); ++i) {
    const std::string wanted = fmt::format("0/in_{}", i);
    for (const NamedArray& a : arrays) {
      if (a.name == wanted) inputs.push_back(a.tensor);
    }
  }
  return inputs;
}

Result<int> check_vectors(const std::string& name, const std::string& arithmetic) {
  std::string file = kVectors + name + ".onnx";
  if (!std::filesystem::exists(file)) file = "tests/models/" + name + ".onnx";
  Options options;
  options.arithmetic = arithmetic;
  QC_ASSIGN(auto graph, load_model(file, options));
  QC_ASSIGN(std::vector<Tensor> inputs, recorded_inputs(name));
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs[i] = adapted(inputs[i], graph->inputs()[i]->dtype());
  }
  QC_TRY(add_dims_of(*graph, inputs, options));
  QC_TRY(make_contract(*graph, options));
  return expect_same_bits(*graph, inputs);
}

class StoreUnsigned : public testing::Test {
 protected:
  void SetUp() override { register_all_ops(); }
};

// arithmetic.md: Q6
TEST_F(StoreUnsigned, QuantizedModelsGiveTheSameBits) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kVectors)) {
    if (entry.path().extension() == ".npz") names.insert(entry.path().stem().string());
  }
  EXPECT_GT(names.size(), 50u);
  for (const char* arithmetic : {"", "onnxruntime,signed=kept", "exact", "torch"}) {
    int stored = 0;
    for (const std::string& name : names) {
      SCOPED_TRACE(name + " " + arithmetic);
      auto count = check_vectors(name, arithmetic);
      ASSERT_TRUE(count.ok()) << render(count.diag());
      stored += *count;
    }
    EXPECT_GT(stored, 0) << arithmetic;
  }
}

// arithmetic.md: Q6
TEST_F(StoreUnsigned, RandomGraphsGiveTheSameBits) {
  int stored = 0;
  const auto seeds = static_cast<uint64_t>(setting("QUANTC_UNSIGNED_GRAPHS", 300));
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    auto graph = seed % 4 == 0 ? near_tie_graph(seed)
                               : random_quantized_graph(seed, 4 + static_cast<int>(seed % 14));
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, print(*graph)));
    const std::vector<Tensor> inputs = random_tensors(*graph, seed);
    auto contract = make_contract(*graph, {});
    ASSERT_TRUE(contract.ok()) << render(contract.diag());
    auto count = expect_same_bits(*graph, inputs);
    ASSERT_TRUE(count.ok()) << render(count.diag());
    stored += *count;
  }
  EXPECT_GT(stored, 300);
}

/// The names of the passes after the contract graph of the digits network for a target, and its
/// graph after them.
Result<std::set<std::string>> lowered_digits(const std::string& target,
                                             std::unique_ptr<Graph>& graph) {
  Options options;
  options.rules_file = "examples/digits/rules.toml";
  options.verify = true;
  QC_ASSIGN(graph, load_model("tests/models/digits.onnx", options));
  QC_TRY(make_contract(*graph, options));
  QC_ASSIGN(const auto inputs, random_inputs(*graph, 7));
  QC_TRY(expect_same_bits(*graph, inputs));
  std::set<std::string> ran;
  options.target = target;
  QC_TRY(make_program(
      *graph, options,
      {.graph = [&](const Pass& pass, bool, double, const Graph&) { ran.insert(pass.name); },
       .program = {}}));
  return ran;
}

TEST_F(StoreUnsigned, TargetsDecideHowAllActivationsOfDigitsAreStored) {
  for (const Target& target : all_targets()) {
    if (!target.targets.empty()) continue;  // its targets decide
    if (target.device && !has_variants_for(target)) continue;
    SCOPED_TRACE(target.name);
    const bool wanted = target.has("unsigned_codes");
    std::unique_ptr<Graph> graph;
    auto ran = lowered_digits(target.name, graph);
    ASSERT_TRUE(ran.ok()) << render(ran.diag());
    EXPECT_EQ(ran->contains("store_unsigned"), wanted);
    std::map<DType, int> types = code_types(*graph);
    ASSERT_EQ(types.size(), 1u) << print(*graph);
    EXPECT_GE(types[wanted ? DType::u8 : DType::i8], 8) << print(*graph);
  }
}

}  // namespace
}  // namespace qc
