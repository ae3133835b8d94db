// Random graphs like transformers: passes that may be left out change no bit, and interpreter,
// program and C agree. The number of graphs comes from QUANTC_TRANSFORMER_GRAPHS (default 300), of
// those that are built as C from QUANTC_TRANSFORMER_C (default 300), the first seed from
// QUANTC_RANDOM_SEED.
#include "tests/random/transformers.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "driver/compile.h"
#include "interp/interpreter.h"
#include "ir/text.h"
#include "ops/common/registration.h"
#include "passes/pipeline.h"
#include "program/run.h"
#include "quant/lifting.h"
#include "tests/random/agree.h"

namespace qc {
namespace {

struct Counts {
  int64_t nodes = 0, elements = 0, products = 0;
};

/// Quantize nodes and the elements they quantize, and integer products.
Counts counted(const Graph& graph) {
  Counts out;
  for (const Node* n = graph.first(); n; n = n->next()) {
    if (n->macs() > 0) ++out.products;
    if (!dynamic_cast<const MakesCodes*>(n)) continue;
    ++out.nodes;
    out.elements += product(n->input_type(0).shape).value();
  }
  return out;
}

/// Options with which the pipeline leaves out all that may be left out, but for the pass `keep`.
Options without_passes(const Options& options, std::string_view keep = {}) {
  Options out = options;
  for (const Pass& pass : pipeline()) {
    if (pass.can_skip && pass.name != keep) out.disabled_passes.push_back(pass.name);
  }
  return out;
}

class Transformers : public testing::Test {
 protected:
  static void SetUpTestSuite() { register_all_ops(); }

  /// `joined_` counts the graphs in which lifting alone left fewer quantizes. Nothing else is fused
  /// with them there, so that all of them are seen.
  Result<Ok> expect_same_bits(uint64_t seed) {
    auto graph = random_transformer(seed);
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, print(*graph)));
    const std::vector<Tensor> inputs = random_tensors(*graph, seed);
    Options options;
    options.verify = true;
    options.target = "portable";
    QC_ASSIGN(auto plain, copy(*graph));
    QC_ASSIGN(auto lifted, copy(*graph));
    QC_TRY(make_contract(*plain, without_passes(options)));
    QC_TRY(make_contract(*lifted, without_passes(options, "lift_quantize")));
    QC_TRY(make_contract(*graph, options));
    QC_ASSIGN(const RunResult expected, interpret(*plain, inputs));
    for (const auto* each : {&lifted, &graph}) {
      QC_ASSIGN(const RunResult run, interpret(**each, inputs));
      EXPECT_EQ(first_difference(run.outputs, expected.outputs), "");
    }
    const Counts before = counted(*plain), after = counted(*lifted);
    EXPECT_LE(after.elements, before.elements);
    EXPECT_EQ(after.products, before.products);
    EXPECT_LE(counted(*graph).products, before.products);
    joined_ += after.nodes < before.nodes;
    QC_ASSIGN(const Program program, make_program(*graph, options));
    QC_ASSIGN(const auto run, run_program(program, inputs));
    EXPECT_EQ(first_difference(run.outputs, expected.outputs), "");
    return Ok{};
  }

  int64_t joined_ = 0;
};

TEST_F(Transformers, PassesThatMayBeLeftOutChangeNoBit) {
  const int64_t count = setting("QUANTC_TRANSFORMER_GRAPHS", 300);
  const int64_t first = setting("QUANTC_RANDOM_SEED", 1);
  for (int64_t seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed) {
    auto done = expect_same_bits(static_cast<uint64_t>(seed));
    ASSERT_TRUE(done.ok()) << "seed " << seed << "\n" << render(done.diag());
  }
  EXPECT_GT(joined_, count / 5);
}

TEST_F(Transformers, InterpreterProgramAndCAgree) {
  CBuild how;
  how.flags = "-O0";
  expect_agreement("transformers", setting("QUANTC_RANDOM_SEED", 1),
                   setting("QUANTC_TRANSFORMER_C", 300), how, random_transformer);
}

}  // namespace
}  // namespace qc
