#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "ir/op_table.h"
#include "ir/text.h"
#include "ops/common/registration.h"
#include "passes/pipeline.h"

namespace qc {
namespace {

class PassesTest : public testing::Test {
 protected:
  void SetUp() override { register_all_ops(); }
  static std::string failure(const PassOptions& options) {
    Graph g;
    PassContext context;
    auto done = run_passes(g, options, context);
    return done.ok() ? "" : done.diag().text;
  }
};

TEST_F(PassesTest, NoPassNamesAnOp) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator("src/passes")) {
    std::ifstream in(entry.path());
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    ++files;
    EXPECT_EQ(text.find("#include \"ops/"), std::string::npos) << entry.path();
    for (const auto& [name, op] : op_table().all()) {
      EXPECT_EQ(text.find("\"" + std::string(name) + "\""), std::string::npos)
          << entry.path() << " " << name;
    }
  }
  EXPECT_GT(files, 10);
}

/// What runs is in the list: no pass calls another one, and only a pass that runs again has a
/// second row.
TEST_F(PassesTest, NoPassRunsAnother) {
  for (const Pass& pass : pipeline()) {
    for (const auto& entry : std::filesystem::directory_iterator("src/passes")) {
      if (entry.path().extension() != ".cpp") continue;
      std::ifstream in(entry.path());
      const std::string text((std::istreambuf_iterator<char>(in)),
                             std::istreambuf_iterator<char>());
      if (text.find(std::string("Result<bool> ") + pass.name + "(Graph&") != text.npos) continue;
      EXPECT_EQ(text.find(std::string(pass.name) + "(graph"), text.npos)
          << entry.path() << " runs " << pass.name;
    }
  }
}

TEST_F(PassesTest, EveryPassHasAnOwnNameAndGoldens) {
  std::set<std::string> names;
  PassStage stage = PassStage::normalise;
  for (const Pass& pass : pipeline()) {
    EXPECT_NE(names.insert(pass.name).second, is_repeat(pass)) << pass.name;
    EXPECT_GE(pass.stage, stage) << pass.name << " stands after a later stage";
    stage = pass.stage;
    EXPECT_TRUE(std::filesystem::is_directory("tests/passes/" + std::string(pass.name)))
        << pass.name;
    EXPECT_FALSE(std::string(pass.summary).empty());
  }
}

TEST_F(PassesTest, WhatOtherRuntimesGetWrongIsRemarked) {
  auto g = parse(R"(@w : i8[2, 2] q(-127, 127, scale=0.5) = [1, 2, 3, 4]
@b : i32[2] q(-2147483648, 2147483647, scale=0.3) = [5, 6]
graph (%0 "x" : f32[3, 2]) {
  %1 = quantize(%0) {to = i8 q(-128, 127, scale=0.5)}
  %2 = dequantize(%1)
  %3 = dequantize(@w)
  %4 = dequantize(@b)
  %5 = linear(%2, %3, %4)
  %6 = quantize(%5) {to = i8 q(-128, 127, scale=0.5)}
  %7 = dequantize(%6)
  %8 = quantize(%0) {to = u8 q(0, 255, scale=0.5)}
  %9 = dequantize(%8)
  %10 = quantize(%9) {to = u8 q(0, 255, scale=0.25)}
  %11 = dequantize(%10)
  return %7, %11
}
)");
  ASSERT_TRUE(g.ok()) << g.diag().text;
  PassContext context;
  PassOptions options;
  options.last = PassStage::quantize;
  ASSERT_TRUE(run_passes(**g, options, context).ok());
  std::string all;
  for (const std::string& line : context.remarks) all += line + "\n";
  EXPECT_NE(all.find("its bias has scale 0.3, its accumulators 0.25"), std::string::npos) << all;
  EXPECT_NE(all.find("quantized twice in a row"), std::string::npos) << all;
}

TEST_F(PassesTest, RemarksSayWhatFusedAndWhatDidNot) {
  auto g = parse(R"(@w : f32[2, 2] = [1.0, 2.0, 3.0, 4.0]
graph (%0 : f32[1, 2]) {
  %1 = linear(%0, @w)  loc("first")
  %2 = clamp(%1) {lo = 0.0}  loc("relu1")
  %3 = linear(%2, @w)  loc("second")
  %4 = clamp(%3) {lo = 0.0}  loc("relu2")
  return %4, %3
}
)");
  ASSERT_TRUE(g.ok()) << g.diag().text;
  PassContext context;
  ASSERT_TRUE(run_passes(**g, {}, context).ok());
  std::string all;
  for (const std::string& line : context.remarks) all += line + "\n";
  EXPECT_NE(all.find("fuse_clamp: 1 node fused\n"), std::string::npos) << all;
  EXPECT_NE(all.find("fuse_clamp: clamp 'relu2' stays beside linear 'second': others read its "
                     "result too\n"),
            std::string::npos)
      << all;
}

TEST_F(PassesTest, WrongNamesAreRefused) {
  PassOptions unknown;
  unknown.stop_after = "fold_everything";
  EXPECT_NE(failure(unknown).find(
                "there is no pass 'fold_everything' (passes: decide_masks, fold_constants, "),
            std::string::npos);
  PassOptions contract;
  contract.disabled = {"fold_constants"};
  EXPECT_EQ(failure(contract),
            "pass 'fold_constants' makes the contract graph and cannot be switched off");
}

TEST_F(PassesTest, StopsAndReports) {
  auto g = parse("graph (%0 : f32[2]) { %1 = clamp(%0) %2 = clamp(%1) {lo = 0.0} return %2 }");
  ASSERT_TRUE(g.ok());
  PassOptions options;
  options.verify = true;
  options.stop_after = "remove_no_ops";
  std::string story;
  options.observe = [&](const Pass& pass, bool changed, double, const Graph& graph) {
    story +=
        std::string(pass.name) + (changed ? "*" : "") + std::to_string(graph.node_count()) + " ";
  };
  PassContext context;
  ASSERT_TRUE(run_passes(**g, options, context).ok());
  EXPECT_EQ(story, "decide_masks2 fold_constants2 remove_no_ops*1 ");
}

TEST_F(PassesTest, LongChainsStayFast) {
  Graph g;
  Value* x = g.add_input("x", Type(DType::f32, {4}));
  Value* one = g.constant(Tensor(DType::f32, {4}), "one");
  for (int i = 0; i < 50000; ++i) {
    x = *g.emit("sigmoid", {x}, {}, {});
    x = *g.emit("add", {x, one}, {}, {});
  }
  g.add_output("y", x);
  PassContext context;
  const std::clock_t begin = std::clock();  // of this process: a loaded machine does not matter
  ASSERT_TRUE(run_passes(g, {}, context).ok());
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_EQ(g.node_count(), 100000u);
  EXPECT_LT(seconds, 5.0) << "quadratic somewhere: linear passes take well under a second";
}

}  // namespace
}  // namespace qc
