// Every step after the contract graph can be switched off without changing a bit of any answer.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "driver/arrays.h"
#include "driver/compile.h"
#include "driver/load.h"
#include "interp/interpreter.h"
#include "ops/common/registration.h"
#include "program/run.h"

namespace qc {
namespace {

std::vector<std::string> models() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator("tests/models")) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".onnx" || extension == ".pt2") out.push_back(entry.path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// Nothing off, each step after the contract graph off, all of them off; every target that runs
/// here.
std::vector<Options> variants() {
  std::vector<Options> out(2);
  out[1].level = 0;
  std::vector<std::string> names = {"fuse_epilogues", "reorder_steps", "update_states_in_place",
                                    "elide_copies", "share_in_place"};
  for (const Pass& pass : pipeline()) {
    if (pass.stage == PassStage::lower && !pass.only_with) names.push_back(pass.name);
  }
  for (const std::string& name : names) out.emplace_back().disabled_passes = {name};
  for (Options& options : out) options.target = "portable";
  for (const Target& target : all_targets()) {
    if (runs_here(target)) out.emplace_back().target = target.name;
  }
  return out;
}

std::string describe(const Options& options) {
  if (options.level == 0) return "level 0";
  if (options.target != "portable") return options.target;
  return options.disabled_passes.empty() ? "all passes" : "without " + options.disabled_passes[0];
}

class IndependenceTest : public testing::TestWithParam<std::string> {};

// arithmetic.md: G8
TEST_P(IndependenceTest, SameBits) {
  register_all_ops();
  auto graph = load_model(GetParam());
  ASSERT_TRUE(graph.ok()) << render(graph.diag());
  auto inputs = random_inputs(**graph, 7);
  ASSERT_TRUE(inputs.ok()) << render(inputs.diag());
  auto bindings = bindings_for(**graph, *inputs);
  ASSERT_TRUE(bindings.ok()) << render(bindings.diag());
  Options base;
  base.dims = {bindings->begin(), bindings->end()};
  base.verify = true;
  auto contract = make_contract(**graph, base);
  ASSERT_TRUE(contract.ok()) << render(contract.diag());
  auto reference = interpret(**graph, *inputs);
  ASSERT_TRUE(reference.ok()) << render(reference.diag());
  for (const Options& options : variants()) {
    auto twin = copy(**graph);
    ASSERT_TRUE(twin.ok()) << render(twin.diag());
    auto program = make_program(**twin, options);
    ASSERT_TRUE(program.ok()) << describe(options) << ": " << render(program.diag());
    auto result = run_program(*program, *inputs);
    ASSERT_TRUE(result.ok()) << describe(options) << ": " << render(result.diag());
    for (size_t i = 0; i < reference->outputs.size(); ++i) {
      EXPECT_TRUE(result->outputs[i].identical(reference->outputs[i]))
          << describe(options) << ", output " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, IndependenceTest, testing::ValuesIn(models()), [](const auto& p) {
  std::string name = std::filesystem::path(p.param).filename().string();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); },
      '_');
  return name;
});

}  // namespace
}  // namespace qc
