// Random quantized graphs: interpreter, in-process program and generated C must give the same bits.
// The number of graphs comes from QUANTC_QUANTIZED_GRAPHS (default 300), the first seed from
// QUANTC_RANDOM_SEED; with QUANTC_RANDOM_CC and QUANTC_RANDOM_CFLAGS all are built so.
#include "tests/random/quantized.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "tests/random/agree.h"
#include "tests/random/kernel_bugs.h"
#include "tests/support/processor.h"

namespace qc {
namespace {

std::unique_ptr<Graph> make(uint64_t seed) {
  return random_quantized_graph(seed, 4 + static_cast<int>(seed % 14));
}

std::string text_setting(const char* name, const char* fallback) {
  const char* text = std::getenv(name);
  return text ? text : fallback;
}

// arithmetic.md: G8
TEST(QuantizedGraphs, InterpreterProgramAndCAgree) {
  std::map<std::string, int> ops;
  CBuild how;
  how.compiler = text_setting("QUANTC_RANDOM_CC", "");
  how.flags = text_setting("QUANTC_RANDOM_CFLAGS", "-O0");
  const int64_t count = setting("QUANTC_QUANTIZED_GRAPHS", 300);
  expect_agreement("quantized", setting("QUANTC_RANDOM_SEED", 1), count, how, make,
                   [&](const Graph& contract) {
                     for (const Node* n = contract.first(); n; n = n->next())
                       ++ops[std::string(n->op())];
                   });
  if (count < 300) return;
  for (const char* op : {"qconv",
                         "qconv_transpose",
                         "qlinear",
                         "qmatmul",
                         "qadd",
                         "qsub",
                         "qmul",
                         "qavg_pool",
                         "qmean",
                         "qsum",
                         "qgru",
                         "qlstm",
                         "qrnn",
                         "qsoftmax",
                         "lookup",
                         "requantize",
                         "quantize",
                         "dequantize",
                         "quantize_dynamic",
                         "max_pool",
                         "concat",
                         "argmax"}) {
    EXPECT_GT(ops[op], 0) << op << " was never formed";
  }
}

TEST(QuantizedGraphs, OptimisersAndContractionChangeNothing) {
  const CBuild builds[] = {{"gcc", "-O3" + vector_flags(), {}},
                           {"clang", "-O3 -ffp-contract=fast" + vector_flags(), {}}};
  const int64_t count = setting("QUANTC_OPTIMISED_GRAPHS", 8);
  for (const CBuild& how : builds) {
    expect_agreement("optimised", 9000, count, how, make);
    expect_agreement("optimised_ties", 9000, count / 2, how, near_tie_graph);
  }
}

/// Programs with all bugs of kernel_bugs.h built in.
class BuggyPrograms {
 public:
  Result<Ok> build(const std::string& dir, uint64_t first, uint64_t last) {
    for (uint64_t seed = first; seed < last; ++seed) {
      auto graph = seed % 2 ? near_tie_graph(seed) : make(seed);
      if (!graph) return error(Code::tool, "no graph from seed {}", seed);
      Entry entry;
      for (uint64_t set = 0; set < kSets; ++set)
        entry.inputs.push_back(random_tensors(*graph, seed + 77 * set));
      QC_ASSIGN(entry.sample, make_sample(seed, std::move(graph)));
      const std::string name = fmt::format("g{}", seed);
      QC_TRY(emit_c(dir, name, entry.sample.program));
      entries_.emplace(name, std::move(entry));
    }
    CBuild how;
    how.edits = kernel_bug_edits();
    QC_ASSIGN(auto failed, build_c(dir, 2, how));
    if (!failed.empty()) return error(Code::tool, "{}", failed.begin()->second);
    QC_ASSIGN(library_, CBatch::open(dir));
    QC_TRY(library_.set("qc_bug", 0));
    for (auto& [name, entry] : entries_) {
      for (size_t set = 0; set < kSets; ++set) {
        QC_ASSIGN(auto outputs, run(name, entry, set));
        entry.right.push_back(std::move(outputs));
      }
      const std::string difference = first_difference(entry.right[0], entry.sample.expected);
      if (!difference.empty()) return error(Code::tool, "{} without a bug: {}", name, difference);
    }
    return Ok{};
  }

  /// Whether some program gives another answer with the bug.
  Result<bool> shows(int bug) {
    QC_TRY(library_.set("qc_bug", bug));
    for (size_t set = 0; set < kSets; ++set) {
      for (const auto& [name, entry] : entries_) {
        QC_ASSIGN(auto outputs, run(name, entry, set));
        if (!first_difference(outputs, entry.right[set]).empty()) return true;
      }
    }
    return false;
  }

 private:
  static constexpr size_t kSets = 6;  // of inputs
  struct Entry {
    Sample sample;
    std::vector<std::vector<Tensor>> inputs, right;  // by set
  };

  Result<std::vector<Tensor>> run(const std::string& name, const Entry& entry, size_t set) const {
    std::vector<Tensor> outputs;
    for (const Tensor& t : entry.sample.expected) outputs.emplace_back(t.dtype(), t.shape());
    QC_TRY(library_.run(name, entry.inputs[set], outputs));
    return outputs;
  }

  std::map<std::string, Entry> entries_;
  CBatch library_;
};

/// A test of the tester: bugs in the text of the kernels, chosen by a global number, are noticed.
TEST(QuantizedGraphs, BugsInKernelsAreFound) {
  const std::string dir = own_folder("bugs");
  BuggyPrograms programs;
  auto built = programs.build(dir, 20000, 20160);
  ASSERT_TRUE(built.ok()) << render(built.diag());
  const std::vector<std::string> bugs = kernel_bug_names();
  EXPECT_GE(bugs.size(), 20u);
  for (size_t i = 0; i < bugs.size(); ++i) {
    auto shows = programs.shows(static_cast<int>(i) + 1);
    ASSERT_TRUE(shows.ok()) << render(shows.diag());
    EXPECT_TRUE(*shows) << "not found: " << bugs[i];
  }
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace qc
