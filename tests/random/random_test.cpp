// Random graphs: interpreter, in-process program and generated C must give the same bits. The
// number of graphs comes from QUANTC_RANDOM_GRAPHS (default 300), the first seed from
// QUANTC_RANDOM_SEED.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "driver/build.h"
#include "driver/compile.h"
#include "interp/interpreter.h"
#include "ir/op_table.h"
#include "ir/text.h"
#include "program/run.h"
#include "tests/random/planted.h"
#include "tests/random/sampling.h"
#include "tests/support/c_batch.h"

namespace qc {
namespace {

int64_t setting(const char* name, int64_t fallback) {
  const char* text = std::getenv(name);
  return text ? std::atoll(text) : fallback;
}

/// The same bits, with any NaN equal to any other.
bool same(const Tensor& a, const Tensor& b) {
  if (a.identical(b)) return true;
  if (a.dtype() != b.dtype() || a.shape() != b.shape() || !is_float(a.dtype())) return false;
  for (int64_t i = 0; i < a.size(); ++i) {
    const double x = a.as_double(i), y = b.as_double(i);
    if (std::isnan(x) && std::isnan(y)) continue;
    if (x != y || std::signbit(x) != std::signbit(y)) return false;
  }
  return true;
}

struct Sample {
  std::string text;  // the graph as generated
  std::vector<Tensor> inputs, expected;
  Program program;
};

/// A random graph, its contract graph interpreted, and its program.
Result<Sample> make_sample(uint64_t seed, std::unique_ptr<Graph> graph) {
  Sample s;
  s.text = print(*graph);
  s.inputs = random_tensors(*graph, seed);
  Options options;
  options.verify = true;
  options.level = static_cast<int>(seed % 4);
  QC_TRY(make_contract(*graph, options));
  QC_ASSIGN(RunResult run, interpret(*graph, s.inputs));
  s.expected = std::move(run.outputs);
  QC_ASSIGN(s.program, make_program(*graph, options));
  QC_TRY(verify(s.program));
  return s;
}

std::string first_difference(const std::vector<Tensor>& got, const std::vector<Tensor>& want) {
  for (size_t i = 0; i < want.size(); ++i) {
    if (!same(got[i], want[i])) return fmt::format("output {} differs", i);
  }
  return {};
}

/// Ops next to each other: (producer, consumer) of every edge, also through nothing but constants.
using Pairs = std::set<std::pair<std::string, std::string>>;
void collect_pairs(const Graph& graph, std::set<std::string>& ops, Pairs& pairs) {
  for (const Node* n = graph.first(); n; n = n->next()) {
    ops.insert(std::string(n->op()));
    for (const Value* v : n->inputs()) {
      if (v && v->def()) pairs.emplace(v->def()->op(), n->op());
    }
  }
}

TEST(RandomGraphs, EveryOpHasASamplerOrAReason) {
  const Samplers& all = samplers();
  for (const auto& [name, entry] : op_table().all()) {
    const std::string op(name);
    EXPECT_TRUE(all.all().contains(op) || all.skipped().contains(op))
        << op << " is missing: add src/ops/" << entry.folder << "/sample.cpp";
  }
}

TEST(RandomGraphs, CoverOpsAndPairs) {
  std::set<std::string> ops;
  Pairs pairs;
  const int graphs = static_cast<int>(setting("QUANTC_RANDOM_GRAPHS", 300));
  // Types each op was seen to take and give decide which pairs are possible at all.
  std::map<std::string, std::set<DType>> takes, gives;
  for (int i = 0; i < std::max(graphs, 2000); ++i) {
    auto graph = random_graph(static_cast<uint64_t>(i) + 1, 5 + i % 56);
    collect_pairs(*graph, ops, pairs);
    for (const Node* n = graph->first(); n; n = n->next()) {
      for (const Value* v : n->inputs()) {
        if (v && !v->is_constant()) takes[std::string(n->op())].insert(v->dtype());
      }
      for (size_t k = 0; k < n->output_count(); ++k)
        gives[std::string(n->op())].insert(n->output(k)->dtype());
    }
  }
  for (const auto& [op, sampler] : samplers().all())
    EXPECT_TRUE(ops.contains(op)) << op << " never appeared";
  size_t possible = 0, seen = 0;
  for (const auto& [producer, out] : gives) {
    for (const auto& [consumer, in] : takes) {
      bool fits = false;
      for (DType d : out) fits = fits || in.contains(d);
      if (!fits) continue;
      ++possible;
      seen += pairs.contains({producer, consumer});
    }
  }
  fmt::print("{} ops, {} of {} possible pairs seen ({:.1f} %)\n", ops.size(), seen, possible,
             100.0 * static_cast<double>(seen) / static_cast<double>(possible));
  EXPECT_GE(static_cast<double>(seen), 0.6 * static_cast<double>(possible));
}

TEST(RandomGraphs, InterpreterProgramAndCAgree) {
  const auto count = static_cast<uint64_t>(setting("QUANTC_RANDOM_GRAPHS", 300));
  const auto base = static_cast<uint64_t>(setting("QUANTC_RANDOM_SEED", 1));
  const std::string dir = testing::TempDir() + "/quantc_random";
  std::filesystem::remove_all(dir);
  constexpr uint64_t kBatch = 300;
  for (uint64_t begin = 0; begin < count; begin += kBatch) {
    const std::string batch = fmt::format("{}/{}", dir, begin);
    std::map<std::string, Sample> samples;
    for (uint64_t i = begin; i < std::min(count, begin + kBatch); ++i) {
      const uint64_t seed = base + i;
      auto sample = make_sample(seed, random_graph(seed, 5 + static_cast<int>(seed % 56)));
      ASSERT_TRUE(sample.ok()) << "seed " << seed << ": " << render(sample.diag()) << "\n"
                               << print(*random_graph(seed, 5 + static_cast<int>(seed % 56)));
      auto run = run_program(sample->program, sample->inputs);
      ASSERT_TRUE(run.ok()) << render(run.diag());
      EXPECT_EQ(first_difference(run->outputs, sample->expected), "")
          << "seed " << seed << ", in process\n"
          << sample->text;
      const std::string name = fmt::format("g{}", seed);
      auto emitted = emit_c(batch, name, sample->program);
      ASSERT_TRUE(emitted.ok()) << render(emitted.diag());
      samples.emplace(name, std::move(*sample));
    }
    auto failed = build_c(batch, 2);
    ASSERT_TRUE(failed.ok()) << render(failed.diag());
    for (const auto& [name, message] : *failed)
      ADD_FAILURE() << name << " does not compile: " << message;
    auto library = CBatch::open(batch);
    ASSERT_TRUE(library.ok()) << render(library.diag());
    for (const auto& [name, sample] : samples) {
      if (!library->has(name)) continue;
      std::vector<Tensor> outputs;
      for (const Tensor& t : sample.expected) outputs.emplace_back(t.dtype(), t.shape());
      auto run = library->run(name, sample.inputs, outputs);
      ASSERT_TRUE(run.ok()) << render(run.diag());
      EXPECT_EQ(first_difference(outputs, sample.expected), "") << name << " in C\n" << sample.text;
    }
    std::filesystem::remove_all(batch);
  }
}

/// A test of the tester: each planted bug changes some program of the random graphs, and the
/// comparison notices.
TEST(RandomGraphs, PlantedBugsAreFound) {
  for (const PlantedBug& bug : planted_bugs()) {
    bool found = false;
    int applied = 0;
    for (uint64_t seed = 1; seed <= 600 && !found; ++seed) {
      auto sample = make_sample(seed, random_graph(seed, 5 + static_cast<int>(seed % 56)));
      ASSERT_TRUE(sample.ok()) << render(sample.diag());
      Program broken = sample->program;
      if (!bug.plant(broken)) continue;
      ++applied;
      auto run = run_program(broken, sample->inputs);
      ASSERT_TRUE(run.ok()) << render(run.diag());
      found = !first_difference(run->outputs, sample->expected).empty();
    }
    EXPECT_TRUE(found) << "not found: " << bug.name << " (planted in " << applied << " programs)";
  }
}

}  // namespace
}  // namespace qc
