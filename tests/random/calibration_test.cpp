// What calibration writes for random graphs is accepted, says the same each time, and gives the
// same bits in the interpreter and as a program. The number of graphs comes from
// QUANTC_CALIBRATED_GRAPHS (default 200), the first seed from QUANTC_RANDOM_SEED.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <random>

#include "driver/calibrate.h"
#include "driver/compile.h"
#include "interp/interpreter.h"
#include "ir/text.h"
#include "program/run.h"
#include "quant/rule_file.h"
#include "support/file.h"
#include "tests/random/agree.h"
#include "tests/random/sampling.h"

namespace qc {
namespace {

/// Several nodes of a model may have one name, and one node several.
void share_names(Graph& graph, std::mt19937_64& random) {
  for (Node* n = graph.first(); n; n = n->next()) {
    Loc loc = n->loc();
    if (random() % 4 == 0) loc.names.push_back(fmt::format("shared{}", random() % 3));
    graph.set_loc(n, loc);
  }
}

CalibrateOptions choice(std::mt19937_64& random) {
  const auto pick = [&](auto list) { return list[random() % list.size()]; };
  CalibrateOptions out;
  out.method = pick(std::array{"minmax", "percentile", "entropy", "mse"});
  out.activations = pick(std::array{"int8", "uint8", "int16"});
  out.results = pick(std::array{"auto", "narrow", "sums", "wide", "float32"});
  out.per_channel = random() % 2 == 0;
  out.reference = random() % 2 == 0;
  out.equalise = random() % 2 == 0;
  out.bias_correction = random() % 4 != 0;
  out.allow_unused_rules = true;
  return out;
}

/// The rule file of a graph for its inputs, and the rules read from it.
Result<std::vector<RuleSpec>> calibrated(const Graph& graph, const std::vector<Tensor>& inputs,
                                         CalibrateOptions how, const std::string& path,
                                         std::string& text) {
  QC_TRY(understand(how));
  QC_ASSIGN(const Calibration found,
            calibrate(graph, {}, Samples::of(inputs), how, archive_name(path)));
  QC_ASSIGN(FileSet files, write_rules(found, path, "random", how.method, Overwrite::any));
  QC_TRY(files.commit());
  QC_ASSIGN(text, read_text(path));
  return read_rules(path);
}

TEST(Calibration, WhatItWritesIsAccepted) {
  const int64_t base = setting("QUANTC_RANDOM_SEED", 1);
  const int64_t count = setting("QUANTC_CALIBRATED_GRAPHS", 200);
  const std::string path = own_folder("calibrated") + "/r.toml";
  int64_t rules = 0;
  for (int64_t i = 0; i < count; ++i) {
    const auto seed = static_cast<uint64_t>(base + i);
    std::mt19937_64 random(seed);
    const auto graph = random_graph(seed, 3 + static_cast<int>(seed % 14));
    if (seed % 3 == 0) share_names(*graph, random);
    const std::vector<Tensor> inputs = random_tensors(*graph, seed);
    const CalibrateOptions how = choice(random);
    const std::string at =
        fmt::format("seed {}: --method {} --activations {} --results {}{}{}{}\n{}", seed,
                    how.method, how.activations, how.results,
                    how.per_channel ? " --per-channel" : "", how.equalise ? " --equalise" : "",
                    how.bias_correction ? "" : " --no-bias-correction", print(*graph));
    std::string text, again;
    const auto found = calibrated(*graph, inputs, how, path, text);
    ASSERT_TRUE(found.ok()) << render(found.diag()) << at;
    ASSERT_TRUE(calibrated(*graph, inputs, how, path, again).ok());
    ASSERT_EQ(text, again) << at;
    Options options;
    options.rules = *found;
    rules += static_cast<int64_t>(found->size());
    auto contract = copy(*graph);
    ASSERT_TRUE(contract.ok());
    const auto made = make_contract(**contract, options);
    ASSERT_TRUE(made.ok()) << render(made.diag()) << text << at;
    const auto want = interpret(**contract, inputs);
    ASSERT_TRUE(want.ok()) << render(want.diag()) << at;
    const auto program = make_program(**contract, options);
    ASSERT_TRUE(program.ok()) << render(program.diag()) << text << at;
    const auto got = run_program(*program, inputs);
    ASSERT_TRUE(got.ok()) << render(got.diag()) << at;
    ASSERT_EQ(first_difference(got->outputs, want->outputs), "") << text << at;
  }
  EXPECT_GE(rules, count);
  std::filesystem::remove_all(std::filesystem::path(path).parent_path());
}

}  // namespace
}  // namespace qc
