// Rules x free sizes x buckets x targets: of random graphs, the interpreter's answers on the
// contract graph are those of the kernels in process, of generated C for each target, and of the
// CUDA kernels on the host, at several sizes. The number of graphs comes from
// QUANTC_COMBINED_GRAPHS (default 120), the first seed from QUANTC_RANDOM_SEED. A target whose
// instructions this processor lacks is skipped, which the test says; with QUANTC_ALL_TARGETS it
// fails. With QUANTC_RANDOM_IN_PROCESS no C is compiled.
#include "tests/random/combined.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <set>

#include "driver/in_process.h"
#include "interp/interpreter.h"
#include "ir/text.h"
#include "program/bind.h"
#include "program/run.h"
#include "support/budget.h"
#include "tests/random/agree.h"
#include "tests/random/free_graphs.h"
#include "tests/support/device.h"

namespace qc {
namespace {

constexpr int64_t kGraphs = 120;
constexpr int64_t kBatch = 200;  // that are compiled together

/// A run at some sizes, and what the interpreter gives.
struct Expected {
  Bindings sizes;
  std::vector<Tensor> inputs, outputs;
};

/// With the budget that a small file has.
template <class F>
auto limited(F&& f) {
  Budget budget;
  return within(&budget, f);
}

/// A random compilation with its contract graph and the runs that every way of running must repeat.
struct Case {
  uint64_t seed = 0;
  Compilation compilation;
  std::string text;  // for messages
  std::unique_ptr<Graph> contract;
  std::vector<Expected> runs;

  static Result<Case> make(uint64_t seed) {
    auto made = limited([&] { return make_unlimited(seed); });
    if (made.ok()) return made;
    const Compilation failed = random_compilation(seed);
    Diag diag = std::move(made).diag();
    diag.notes.push_back(fmt::format("{}\n{}", str(failed.options), print(*failed.graph)));
    return diag;
  }
  static Result<Case> make_unlimited(uint64_t seed);

  Options options(const std::string& target) const {
    Options out = compilation.options;
    out.target = target;
    out.allow_host = true;
    return out;
  }
  Result<Program> program(const std::string& target) const {
    return limited([&]() -> Result<Program> {
      QC_ASSIGN(auto own, copy(*contract));
      return make_program(*own, options(target));
    });
  }
};

/// The largest and smallest sizes, those at which another bucket begins, and random ones.
std::vector<Bindings> sizes_to_run(const Options& options, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto chosen = [&](auto&& size) {
    Bindings out;
    for (const auto& [symbol, range] : options.ranges) out[symbol] = size(range);
    return out;
  };
  std::set<Bindings> out;
  out.insert(chosen([](const quantc::SizeRange& r) { return r.max; }));
  out.insert(chosen([](const quantc::SizeRange& r) { return r.min; }));
  out.insert(chosen([](const quantc::SizeRange& r) {
    return r.buckets.empty() ? r.max : std::min(r.buckets.front() + 1, r.max);
  }));
  out.insert(chosen([&](const quantc::SizeRange& r) {
    return r.min + static_cast<int64_t>(random() % static_cast<uint64_t>(r.max - r.min + 1));
  }));
  return {out.begin(), out.end()};
}

Result<Case> Case::make_unlimited(uint64_t seed) {
  Case out;
  out.seed = seed;
  out.compilation = random_compilation(seed);
  const Options& options = out.compilation.options;
  out.text = fmt::format("seed {}: {}\n{}", seed, str(options), print(*out.compilation.graph));
  QC_ASSIGN(out.contract, copy(*out.compilation.graph));
  QC_TRY(make_contract(*out.contract, out.options("portable")));
  for (const Bindings& sizes : sizes_to_run(options, seed)) {
    Expected run{sizes, inputs_at(*out.compilation.graph, sizes, seed), {}};
    QC_ASSIGN(const BoundCopy bound, bound_copy(*out.contract, sizes));
    RunOptions plain;
    plain.how.plain = true;
    QC_ASSIGN(RunResult result, interpret(*bound.graph, run.inputs, plain));
    run.outputs = std::move(result.outputs);
    out.runs.push_back(std::move(run));
  }
  return out;
}

void expect_same(const std::vector<Tensor>& got, const Expected& run, const Case& c,
                 const std::string& way) {
  const std::string difference = first_difference(got, run.outputs);
  EXPECT_EQ(difference, "") << way << " at " << str(run.sizes) << "\n" << c.text;
}

void expect_in_process(const Case& c, const Program& program, const std::string& way) {
  for (const Expected& run : c.runs) {
    const auto got = run_program(bound(program, run.sizes), run.inputs);
    ASSERT_TRUE(got.ok()) << way << ": " << render(got.diag()) << "\n" << c.text;
    expect_same(got->outputs, run, c, way);
  }
}

int64_t first_seed() { return setting("QUANTC_RANDOM_SEED", 1); }
int64_t graph_count() { return setting("QUANTC_COMBINED_GRAPHS", kGraphs); }

class Combined : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const Result<Target> target = find_target(GetParam());
    ASSERT_TRUE(target.ok());
    target_ = *target;
    compiles_ = !target_.device && std::getenv("QUANTC_RANDOM_IN_PROCESS") == nullptr;
    if (target_.device || runs_here(target_)) return;
    ASSERT_EQ(std::getenv("QUANTC_ALL_TARGETS"), nullptr)
        << "this processor does not run code for " << target_.name;
    GTEST_SKIP() << "NOT TESTED: this processor does not run code for " << target_.name;
  }

  /// Cases of a batch whose programs are written as C.
  using Written = std::vector<std::pair<Case, std::vector<FreeDim>>>;

  void write(uint64_t seed, const std::string& dir, Written& written) {
    auto made = Case::make(seed);
    ASSERT_TRUE(made.ok()) << "seed " << seed << ": " << render(made.diag());
    Case& c = *made;
    const auto program = c.program(target_.name);
    ASSERT_TRUE(program.ok()) << render(program.diag()) << "\n" << c.text << print(*c.contract);
    expect_in_process(c, *program, target_.name + " in process");
    if (!compiles_) return;
    const auto emitted = emit_c(dir, fmt::format("g{}", seed), *program, target_);
    ASSERT_TRUE(emitted.ok()) << render(emitted.diag()) << "\n" << c.text;
    written.emplace_back(std::move(c), program->dims);
  }

  void run(const std::string& dir, const Written& written) {
    CBuild how;
    how.target = target_;
    const auto failed = build_c(dir, 2, how);
    ASSERT_TRUE(failed.ok()) << render(failed.diag());
    for (const auto& [name, message] : *failed) ADD_FAILURE() << name << ": " << message;
    const auto library = CBatch::open(dir);
    ASSERT_TRUE(library.ok()) << render(library.diag());
    for (const auto& [c, free] : written) {
      for (const Expected& run : c.runs) {
        std::vector<Tensor> outputs;
        for (const Tensor& t : run.outputs) outputs.emplace_back(t.dtype(), t.shape());
        std::vector<int64_t> dims;
        for (const FreeDim& d : free) dims.push_back(run.sizes.at(d.name));
        const auto done = library->run(fmt::format("g{}", c.seed), run.inputs, outputs, dims);
        ASSERT_TRUE(done.ok()) << render(done.diag()) << "\n" << c.text;
        expect_same(outputs, run, c, "C for " + target_.name);
      }
    }
  }

  Target target_;
  bool compiles_ = true;
};

TEST_P(Combined, EveryWayOfRunningGivesTheInterpretersBits) {
  const std::string folder = own_folder("combined");
  for (int64_t begin = 0; begin < graph_count(); begin += kBatch) {
    const std::string dir = fmt::format("{}/{}", folder, begin);
    Written written;
    for (int64_t i = begin; i < std::min(begin + kBatch, graph_count()); ++i) {
      write(static_cast<uint64_t>(first_seed() + i), dir, written);
    }
    if (compiles_) run(dir, written);
    std::filesystem::remove_all(dir);
  }
  std::filesystem::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(, Combined,
                         testing::Values("portable", "x86-avx2", "x86-avx512vnni", kDevices[0],
                                         kDevices[1]),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace_if(
                               name, [](char c) { return !std::isalnum(c); }, '_');
                           return name;
                         });

/// What `quantc run` does, and what the graphs have.
TEST(CombinedGraphs, RunInProcessWithTheirBuckets) {
  std::map<std::string, int> seen;
  for (int64_t i = 0; i < graph_count(); ++i) {
    const int64_t seed = first_seed() + i;
    const auto made = Case::make(static_cast<uint64_t>(seed));
    ASSERT_TRUE(made.ok()) << "seed " << seed << ": " << render(made.diag());
    const Case& c = *made;
    const auto model =
        limited([&] { return InProcess::create(*c.contract, c.options("native"), 0); });
    ASSERT_TRUE(model.ok()) << render(model.diag()) << "\n" << c.text;
    std::set<std::string> here;
    for (const Node* n = c.contract->first(); n; n = n->next()) here.insert(std::string(n->op()));
    for (const auto& [symbol, range] : c.compilation.options.ranges) {
      if (!range.buckets.empty()) here.insert("buckets");
    }
    for (const std::string& what : here) ++seen[what];
    for (const Expected& run : c.runs) {
      const auto fast = interpret(*c.contract, run.inputs);
      const auto inputs_say = bindings_for(*c.contract, run.inputs);
      if (!inputs_say.ok()) continue;
      ASSERT_TRUE(fast.ok()) << render(fast.diag()) << c.text;
      expect_same(fast->outputs, run, c, "interpreter, fast");
      const auto got = model->run(run.inputs);
      ASSERT_TRUE(got.ok()) << render(got.diag()) << c.text;
      expect_same(*got, run, c, "in process");
    }
  }
  if (graph_count() < kGraphs) return;
  for (const char* what :
       {"attention", "buckets", "concat", "dequantize", "linear", "matmul", "qadd", "qattention",
        "qlinear", "qmatmul", "quantize", "quantize_dynamic", "softmax", "slice", "transpose"})
    EXPECT_GT(seen[what] * 100, graph_count()) << what;
}

}  // namespace
}  // namespace qc
