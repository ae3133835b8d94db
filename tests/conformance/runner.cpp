// Runs exported cases, ONNX files or .pt2: conformance CASES OUT [--shard K/N] [--filter TEXT].
//
// Every case goes through the importer, the interpreter and the in-process Program run. A line per
// case goes to OUT/results_K.tsv: name, variant, "frozen" when all inputs are constants, stage and
// reason; the stage of a case that passes is "pass".
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "frontends/onnx/import.h"
#include "frontends/pt2/importer.h"
#include "interp/interpreter.h"
#include "ops/common/registration.h"
#include "program/lowering.h"
#include "program/run.h"
#include "support/file.h"
#include "tests/conformance/cases.h"
#include "tests/support/isolate.h"

namespace qc::conformance {
namespace {

struct Verdict {
  int level = 0;
  bool frozen = false;
  std::string stage, reason;
};

/// How far a case came; a later stage of an earlier variant explains a failure best.
int rank(const std::string& stage) {
  const char* const order[] = {"import", "interpret", "differs", "lower", "program", "pass"};
  for (int i = 0; i < 6; ++i) {
    if (stage == order[i]) return i;
  }
  return -1;
}

std::string one_line(const Diag& diag) {
  std::string text = fmt::format("{}: {}", info(diag.code).name, diag.text);
  if (!diag.loc.op.empty()) text = diag.loc.op + ": " + text;
  for (const std::string& note : diag.notes) text += "; " + note;
  for (char& c : text) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  return text;
}

class CaseRun {
 public:
  CaseRun(const Case& c, const Variant& variant) : case_(c) {
    verdict_.level = variant.level;
    verdict_.frozen = variant.inputs.empty() && variant.level > 0;
    run(variant);
  }
  Verdict verdict() && { return std::move(verdict_); }

 private:
  void stop(const char* stage, std::string reason) {
    verdict_.stage = stage;
    verdict_.reason = std::move(reason);
  }

  void run(const Variant& variant) {
    for (int i = 0; i < case_.sets; ++i) {
      auto set = read_set(case_, i);
      if (!set.ok()) return stop("import", one_line(set.diag()));
      run_set(*set, variant);
      if (verdict_.stage != "pass") return;
    }
  }

  Result<std::unique_ptr<Graph>> load(const Variant& variant) const {
    std::string path = fmt::format("{}/model_{}", case_.folder, variant.level);
    if (access((path + ".pt2").c_str(), R_OK) == 0) return pt2::import_file(path + ".pt2");
    return onnx::load(path + ".onnx");
  }

  void run_set(const DataSet& set, const Variant& variant) {
    auto graph = load(variant);
    if (!graph.ok()) return stop("import", one_line(graph.diag()));
    Graph& g = **graph;
    if (g.inputs().size() != variant.inputs.size()) {
      return stop("import",
                  fmt::format("{} inputs, expected {}", g.inputs().size(), variant.inputs.size()));
    }
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < variant.inputs.size(); ++i) {
      const Tensor& given = set.inputs.at(static_cast<size_t>(variant.inputs[i]));
      inputs.push_back(retyped(given, g.inputs()[i]->dtype()));
    }
    auto bindings = bindings_for(g, inputs);
    if (!bindings.ok()) return stop("import", one_line(bindings.diag()));
    if (auto bound = g.bind(*bindings); !bound.ok()) return stop("import", one_line(bound.diag()));

    auto reference = interpret(g, inputs);
    if (!reference.ok()) return stop("interpret", one_line(reference.diag()));
    std::string miss = misses(reference->outputs, set.outputs, case_.tolerance);
    if (!miss.empty()) return stop("differs", miss);

    auto program = lower(g);
    if (!program.ok()) return stop("lower", one_line(program.diag()));
    auto result = run_program(*program, inputs);
    if (!result.ok()) return stop("program", one_line(result.diag()));
    miss = misses(result->outputs, reference->outputs, {});
    if (!miss.empty()) return stop("program", miss);
    stop("pass", {});
  }

  const Case& case_;
  Verdict verdict_;
};

std::string run_case(const Case& c) {
  Verdict best;
  for (const Variant& variant : c.variants) {
    Verdict verdict = CaseRun(c, variant).verdict();
    if (rank(verdict.stage) > rank(best.stage)) best = std::move(verdict);
    if (best.stage == "pass") break;
  }
  return fmt::format("{}\t{}\t{}\t{}", best.level, best.frozen ? "frozen" : "", best.stage,
                     best.reason);
}

int run(const std::string& dir, const std::string& out, size_t shard, size_t shards,
        const std::string& filter) {
  auto all = read_cases(dir);
  if (!all.ok()) {
    fmt::print(stderr, "{}\n", render(all.diag()));
    return 1;
  }
  std::vector<const Case*> mine;
  for (size_t i = 0; i < all->size(); ++i) {
    const Case& c = (*all)[i];
    if (i % shards == shard && c.reason.empty() && c.name.find(filter) != c.name.npos) {
      mine.push_back(&c);
    }
  }
  auto results = run_isolated(
      mine.size(), [&](size_t i) { return run_case(*mine[i]); }, 60);
  std::string text;
  for (size_t i = 0; i < mine.size(); ++i) {
    bool complete = results[i].find('\t') != std::string::npos;
    text += mine[i]->name + "\t" + (complete ? results[i] : "0\t\tcrash\t" + results[i]) + "\n";
  }
  auto written = write_file(fmt::format("{}/results_{}.tsv", out, shard), text);
  if (!written.ok()) fmt::print(stderr, "{}\n", render(written.diag()));
  return written.ok() ? 0 : 1;
}

}  // namespace
}  // namespace qc::conformance

int main(int argc, char** argv) {
  size_t shard = 0, shards = 1;
  std::string filter;
  bool good = argc >= 3;
  for (int i = 3; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--shard") == 0) {
      good = good && std::sscanf(argv[i + 1], "%zu/%zu", &shard, &shards) == 2 && shards > 0;
    } else if (std::strcmp(argv[i], "--filter") == 0) {
      filter = argv[i + 1];
    }
  }
  if (!good) {
    fmt::print(stderr, "usage: conformance CASES OUT [--shard K/N] [--filter TEXT]\n");
    return 1;
  }
  qc::register_all_ops();
  return qc::conformance::run(argv[1], argv[2], shard, shards, filter);
}
