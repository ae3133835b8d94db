// Ops with a fast evaluation beside the plain one: both give the same bits on many shapes.
#include <gtest/gtest.h>

#include "interp/eval.h"
#include "interp/interpreter.h"
#include "ir/op_table.h"
#include "ir/text.h"
#include "tests/random/agree.h"
#include "tests/random/sampling.h"

namespace qc {
namespace {

/// Every value that a run computes, in order.
std::vector<Tensor> computed(const Graph& graph, const std::vector<Tensor>& inputs, bool plain) {
  std::vector<Tensor> out;
  RunOptions options;
  options.how.plain = plain;
  options.observe = [&](const Value&, const Tensor& t) { out.push_back(t); };
  auto run = interpret(graph, inputs, options);
  EXPECT_TRUE(run.ok()) << render(run.diag()) << "\n" << print(graph);
  return out;
}

TEST(FastEvaluation, EqualsThePlainOneOnManyShapes) {
  int ops = 0;
  for (const auto& [op, sample] : samplers().all()) {
    const auto node = op_table().all().at(op).create();
    if (!dynamic_cast<const EvaluatesFast*>(node.get())) continue;
    ++ops;
    int nodes = 0;
    for (uint64_t seed = 1; seed <= 400; ++seed) {
      Sampling s(seed);
      sample(s);
      const std::vector<Tensor> inputs = random_tensors(s.graph(), seed);
      const std::vector<Tensor> plain = computed(s.graph(), inputs, true);
      const std::vector<Tensor> fast = computed(s.graph(), inputs, false);
      ASSERT_EQ(plain.size(), fast.size());
      ASSERT_EQ(first_difference(fast, plain), "") << "seed " << seed << "\n" << print(s.graph());
      nodes += plain.empty() ? 0 : 1;
    }
    EXPECT_GE(nodes, 100) << op;
  }
  EXPECT_GE(ops, 7);
}

}  // namespace
}  // namespace qc
