// Random graphs: interpreter, in-process program and generated C must give the same bits. The
// number of graphs comes from QUANTC_RANDOM_GRAPHS (default 300), the first seed from
// QUANTC_RANDOM_SEED.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "ir/capability.h"
#include "ir/op_table.h"
#include "program/run.h"
#include "tests/random/agree.h"
#include "tests/random/planted.h"
#include "tests/random/sampling.h"

namespace qc {
namespace {

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
        << op << " is missing: add tests/random/ops/" << entry.folder << ".cpp";
  }
}

TEST(RandomGraphs, CoverOpsAndPairs) {
  std::set<std::string> ops;
  Pairs pairs;
  const int graphs = static_cast<int>(setting("QUANTC_RANDOM_GRAPHS", 300));
  // Types each op was seen to take and give decide which pairs are possible at all.
  std::map<std::string, std::set<DType>> takes, gives;
  // A dozen graphs for each op: what can meet grows with the ops.
  const int each = 12 * static_cast<int>(samplers().all().size());
  for (int i = 0; i < std::max(graphs, each); ++i) {
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

// arithmetic.md: G8, E5
TEST(RandomGraphs, InterpreterProgramAndCAgree) {
  expect_agreement(
      "random", setting("QUANTC_RANDOM_SEED", 1), setting("QUANTC_RANDOM_GRAPHS", 300), {},
      [](uint64_t seed) { return random_graph(seed, 5 + static_cast<int>(seed % 56)); });
}

/// The type of a result of `op` that nothing but `then` reads; nullopt where the graph has none.
std::optional<DType> followed(const Graph& graph, std::string_view op, std::string_view then) {
  for (const Node* n = graph.first(); n; n = n->next()) {
    const Value* x = n->op() == then && !n->inputs().empty() ? n->input(0) : nullptr;
    if (x && x->def() && x->def()->op() == op && x->has_one_use()) return x->dtype();
  }
  return std::nullopt;
}

/// Whatever may take over the limits of a clamp is followed by one in every element type it gives.
// arithmetic.md: Q5, Q15
TEST(RandomGraphs, ClampsAfterWhatMayAbsorbThemAgreeInEveryType) {
  for (const auto& [op, sampler] : samplers().all()) {
    if (!capability<AbsorbsClamp>(op_table().find(op)->create().get())) continue;
    std::set<DType> gives, limited;
    for (uint64_t seed = 3; seed < 4000; seed += 4) {  // at the highest level of optimisation
      auto graph = random_graph(seed, 3, op, "clamp");
      for (const Node* n = graph->first(); n; n = n->next()) {
        if (n->op() == op) gives.insert(n->output()->dtype());
      }
      const auto dtype = followed(*graph, op, "clamp");
      if (!dtype || !limited.insert(*dtype).second) continue;
      auto sample = make_sample(seed, std::move(graph));
      ASSERT_TRUE(sample.ok()) << render(sample.diag());
      auto run = run_program(sample->program, sample->inputs);
      ASSERT_TRUE(run.ok()) << render(run.diag());
      EXPECT_EQ(first_difference(run->outputs, sample->expected), "") << sample->text;
    }
    gives.erase(DType::boolean);
    EXPECT_EQ(limited, gives) << op;
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
