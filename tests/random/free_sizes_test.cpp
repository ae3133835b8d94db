// Random graphs with one to three free dimensions: the program that serves every size gives, bound
// to some, the bits that the interpreter gives of the graph with these sizes. The number of graphs
// comes from QUANTC_FREE_GRAPHS (default 300), the first seed from QUANTC_RANDOM_SEED. A third have
// static rules, a third dynamic ones. Some (QUANTC_FREE_NATIVE, default 10) are also compiled to C,
// built and run.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <set>

#include "driver/compile.h"
#include "driver/native.h"
#include "interp/interpreter.h"
#include "ir/text.h"
#include "program/bind.h"
#include "program/run.h"
#include "tests/random/agree.h"
#include "tests/random/free_graphs.h"
#include "tests/random/sampling.h"

namespace qc {
namespace {

constexpr int64_t kSizesOfAGraph = 5;

/// Every fourth graph is padded along one dimension.
std::vector<int64_t> buckets(int64_t i, const std::string& name, const DimRange& range) {
  if (i % 4 != 3 || name != "a") return {};
  return {range.min + 4, range.max};
}

enum class Rules { none, statics, dynamics };

std::vector<quantc::RuleSpec> specs(Rules rules) {
  if (rules == Rules::none) return {};
  quantc::RuleSpec spec;
  spec.pattern = ".*";
  spec.kind = rules == Rules::statics ? "static" : "dynamic";
  if (rules == Rules::statics) {
    spec.min = spec.input_min = {-4};
    spec.max = spec.input_max = {4};
  }
  spec.skip_unsupported = true;
  return {spec};
}

TEST(FreeSizes, RandomGraphsGiveTheBitsOfTheirStaticTwins) {
  const int64_t base = setting("QUANTC_RANDOM_SEED", 1);
  const int64_t count = setting("QUANTC_FREE_GRAPHS", 300);
  const int64_t natives = setting("QUANTC_FREE_NATIVE", 10);
  int64_t compiled = 0, called = 0;
  std::map<std::string, int> refused, ops;
  for (int64_t i = 0; i < count; ++i) {
    const auto seed = static_cast<uint64_t>(base + i);
    const Rules rules = std::array{Rules::none, Rules::statics, Rules::dynamics}[seed % 3];
    // A static rule gives a table a scale of its own once its sizes are known (docs/sizes.md).
    const std::unique_ptr<Graph> graph = random_free_graph(seed, rules != Rules::statics);
    Options options;
    options.rules = specs(rules);
    options.allow_unused_rules = true;
    options.target = i % 2 == 0 ? "portable" : "native";
    options.verify = true;
    options.level = static_cast<int>(i / 3 % 3);
    options.plan = i % 3 == 0 ? "smallest" : "fixed";
    for (const auto& [name, range] : graph->dim_ranges) {
      const auto symbols = graph->symbols();
      if (std::find(symbols.begin(), symbols.end(), name) != symbols.end())
        options.ranges[name] = {range.min, range.max, 1, buckets(i, name, range), 0, {}, true};
    }
    auto contract = copy(*graph);
    ASSERT_TRUE(contract.ok());
    const auto made = make_contract(**contract, options);
    ASSERT_TRUE(made.ok()) << "seed " << seed << ": " << render(made.diag()) << print(*graph);
    auto own = copy(**contract);
    const auto program = make_program(**own, options);
    if (!program.ok() && program.diag().code == Code::unsupported) {
      ++refused[program.diag().text];
      continue;
    }
    ASSERT_TRUE(program.ok()) << "seed " << seed << ": " << render(program.diag()) << print(*graph);
    ++compiled;
    for (const Graph* g : {graph.get(), contract->get()}) {
      std::set<std::string> here;
      for (const Node* n = g->first(); n; n = n->next()) here.insert(std::string(n->op()));
      for (const std::string& op : here) ++ops[op];
    }
    std::optional<NativeModel> native;
    if (natives > called && i % std::max<int64_t>(1, count / (2 * natives)) == 0 &&
        gives_sizes(*program)) {
      ++called;
      auto built = NativeModel::build(**contract, options, {{}, {"-O0"}});
      ASSERT_TRUE(built.ok()) << "seed " << seed << ": " << render(built.diag()) << print(*graph);
      native = std::move(*built);
    }
    std::mt19937_64 random(seed);
    for (int64_t k = 0; k < kSizesOfAGraph; ++k) {
      Bindings sizes;
      for (const FreeDim& d : program->dims) {
        const auto steps = static_cast<uint64_t>(d.max - d.min + 1);
        sizes[d.name] = k == 0   ? d.max
                        : k == 1 ? d.min
                                 : d.min + static_cast<int64_t>(random() % steps);
      }
      const std::vector<Tensor> inputs = inputs_at(*graph, sizes, seed);
      auto twin = copy(*graph);
      ASSERT_TRUE((*twin)->bind(sizes).ok());
      Options fixed = options;
      fixed.ranges.clear();
      ASSERT_TRUE(make_contract(**twin, fixed).ok());
      const auto want = interpret(**twin, inputs);
      ASSERT_TRUE(want.ok()) << render(want.diag());
      if (native) {
        const auto in_c = native->run(inputs);
        ASSERT_TRUE(in_c.ok()) << "seed " << seed << ": " << render(in_c.diag());
        ASSERT_EQ(first_difference(in_c->outputs, want->outputs), "") << "in C, seed " << seed;
      }
      const Program here = bound(*program, sizes);
      ASSERT_TRUE(verify(here).ok()) << "seed " << seed;
      const auto got = run_program(here, inputs);
      ASSERT_TRUE(got.ok()) << "seed " << seed << ": " << render(got.diag());
      std::string at;
      for (const auto& [name, size] : sizes) at += fmt::format(" {} = {}", name, size);
      ASSERT_EQ(first_difference(got->outputs, want->outputs), "") << "seed " << seed << at << "\n"
                                                                   << print(*graph);
    }
  }
  for (const auto& [why, times] : refused) fmt::print("{} x {}\n", times, why);
  EXPECT_GE(compiled * 100, count * 97);
  EXPECT_GE(called * 2, natives);
  for (const char* op : {"add",         "attention", "average_pool", "concat",   "conv",
                         "cumsum",      "expand",    "gather",       "iota",     "layer_norm",
                         "linear",      "matmul",    "max_pool",     "pad",      "qattention",
                         "qconv",       "qlinear",   "qmatmul",      "quantize", "quantize_dynamic",
                         "reduce_mean", "reshape",   "rotary",       "slice",    "softmax",
                         "transpose",   "where"})
    EXPECT_GE(ops[op] * 100, count * 2) << op;
}

}  // namespace
}  // namespace qc
