#include "tests/random/agree.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "driver/build.h"
#include "driver/compile.h"
#include "interp/interpreter.h"
#include "ir/text.h"
#include "program/run.h"
#include "program/split.h"
#include "tests/random/sampling.h"
#include "tests/support/device.h"

namespace qc {

int64_t setting(const char* name, int64_t fallback) {
  const char* text = std::getenv(name);
  return text ? std::atoll(text) : fallback;
}

std::string own_folder(const std::string& name) {
  const std::string dir = fmt::format("{}/quantc_{}_{}", testing::TempDir(), name, getpid());
  std::filesystem::remove_all(dir);
  return dir;
}

namespace {

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

/// Another target that this machine runs gives the same bits; they alternate.
Result<Ok> check_target(const Graph& contract, Options options, const Sample& s, uint64_t seed) {
  std::vector<std::string> here;
  for (const Target& t : all_targets()) {
    if (!t.macro.empty() && runs_here(t)) here.push_back(t.name);
  }
  if (here.empty()) return Ok{};
  options.target = here[seed % here.size()];
  QC_ASSIGN(auto graph, copy(contract));
  QC_ASSIGN(const Program program, make_program(*graph, options));
  QC_ASSIGN(const ProgramResult run, run_program(program, s.inputs));
  std::string difference = first_difference(run.outputs, s.expected);
  if (difference.empty()) difference = difference_in_parts(program, s);
  if (difference.empty()) return Ok{};
  return error(Code::bug, "target {}: {}", options.target, difference);
}

/// A GPU's kernels give the same bits, thread after thread.
Result<Ok> check_device(const Graph& contract, const Sample& s, uint64_t seed) {
  const char* const device = kDevices[seed % std::size(kDevices)];
  const bool lowered = seed / std::size(kDevices) % 4 != 0;
  QC_ASSIGN(const auto program, device_program(contract, device, lowered));
  if (!program) return error(Code::bug, "{} has no kernel for it", device);
  QC_ASSIGN(const ProgramResult run, run_program(*program, s.inputs));
  const std::string difference = first_difference(run.outputs, s.expected);
  if (difference.empty()) return Ok{};
  return error(Code::bug, "target {}: {}", device, difference);
}

}  // namespace

Result<Sample> make_sample(uint64_t seed, std::unique_ptr<Graph> graph,
                           const std::function<void(const Graph&)>& contract) {
  Sample s;
  if (seed % 3 == 1) graph->set_dot(DotStep::mul_add);
  s.text = print(*graph);
  s.inputs = random_tensors(*graph, seed);
  Options options;
  options.target = "portable";
  options.verify = true;
  options.level = static_cast<int>(std::min<uint64_t>(seed % 4, 2));
  QC_TRY(make_contract(*graph, options));
  if (contract) contract(*graph);
  RunOptions plain;
  plain.how.plain = true;
  QC_ASSIGN(RunResult run, interpret(*graph, s.inputs, plain));
  s.expected = std::move(run.outputs);
  QC_ASSIGN(const RunResult fast, interpret(*graph, s.inputs));
  if (auto wrong = first_difference(fast.outputs, s.expected); !wrong.empty()) {
    return error(Code::bug, Loc{}, "by fast evaluation {}", wrong);
  }
  QC_TRY(check_target(*graph, options, s, seed));
  QC_TRY(check_device(*graph, s, seed));
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

std::string difference_in_parts(Program program, const Sample& s) {
  if (split(program, 0) == 0) return {};
  if (const auto verified = verify(program); !verified.ok()) return render(verified.diag());
  for (const int parts : {1, 2, 3, 7}) {
    ProgramOptions options;
    options.parallel_for = [&](int32_t units, const Part& part) {
      for (int i = parts - 1; i >= 0; --i) part(units * i / parts, units * (i + 1) / parts);
    };
    const auto run = run_program(program, s.inputs, options);
    if (!run.ok()) return render(run.diag());
    if (const std::string difference = first_difference(run->outputs, s.expected);
        !difference.empty())
      return fmt::format("in {} parts: {}", parts, difference);
  }
  return {};
}

void expect_agreement(const std::string& name, int64_t base, int64_t count, const CBuild& how,
                      const std::function<std::unique_ptr<Graph>(uint64_t)>& make,
                      const std::function<void(const Graph&)>& contract) {
  const std::string dir = own_folder(name);
  const bool in_process = std::getenv("QUANTC_RANDOM_IN_PROCESS") != nullptr;
  constexpr int64_t kBatch = 300;
  for (int64_t begin = 0; begin < count; begin += kBatch) {
    const std::string batch = fmt::format("{}/{}", dir, begin);
    std::map<std::string, Sample> samples;
    for (int64_t i = begin; i < std::min(count, begin + kBatch); ++i) {
      const auto seed = static_cast<uint64_t>(base + i);
      if (in_process) {
        fmt::print("seed {}\n", seed);
        std::fflush(stdout);
      }
      auto sample = make_sample(seed, make(seed), contract);
      ASSERT_TRUE(sample.ok()) << "seed " << seed << ": " << render(sample.diag()) << "\n"
                               << print(*make(seed));
      for (bool fast : {false, true}) {
        auto runner = ProgramRunner::create(sample->program, fast);
        ASSERT_TRUE(runner.ok()) << render(runner.diag());
        auto run = runner->run(sample->inputs);
        ASSERT_TRUE(run.ok()) << render(run.diag());
        EXPECT_EQ(first_difference(run->outputs, sample->expected), "")
            << "seed " << seed << ", in process" << (fast ? ", fast kernels\n" : "\n")
            << sample->text;
      }
      EXPECT_EQ(difference_in_parts(sample->program, *sample), "") << "seed " << seed << "\n"
                                                                   << sample->text;
      if (in_process) continue;
      const std::string program = fmt::format("g{}", seed);
      auto emitted = emit_c(batch, program, sample->program);
      ASSERT_TRUE(emitted.ok()) << render(emitted.diag());
      samples.emplace(program, std::move(*sample));
    }
    if (in_process) continue;
    auto failed = build_c(batch, 2, how);
    ASSERT_TRUE(failed.ok()) << render(failed.diag());
    for (const auto& [program, message] : *failed)
      ADD_FAILURE() << program << " does not compile: " << message;
    auto library = CBatch::open(batch);
    ASSERT_TRUE(library.ok()) << render(library.diag());
    for (const auto& [program, sample] : samples) {
      if (!library->has(program)) continue;
      std::vector<Tensor> outputs;
      for (const Tensor& t : sample.expected) outputs.emplace_back(t.dtype(), t.shape());
      auto run = library->run(program, sample.inputs, outputs);
      ASSERT_TRUE(run.ok()) << render(run.diag());
      EXPECT_EQ(first_difference(outputs, sample.expected), "")
          << program << " in C, " << how.compiler << " " << how.flags << "\n"
          << sample.text;
    }
    std::filesystem::remove_all(batch);
  }
  std::filesystem::remove_all(dir);
}

}  // namespace qc
