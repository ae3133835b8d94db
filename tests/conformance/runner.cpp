// Runs exported cases (export_cases.py), ONNX files or .pt2, in three steps:
//   conformance run CASES OUT [--shard K/N] [--filter TEXT]
//     importer, interpreter, passes, in-process Program; writes the C of what passed
//   conformance build OUT [--jobs N]
//     compiles the C; OUT/build.tsv names what does not compile
//   conformance check OUT [--shard K/N]
//     runs the compiled C: it must give the interpreter's bits
// `run` writes a line per case to OUT/run_K.tsv: name, variant, "frozen" when all inputs are
// constants, stage and reason; `check` to OUT/check_K.tsv: name and reason. The stage of what is
// good is "pass", the reason empty.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "frontends/onnx/import.h"
#include "frontends/pt2/importer.h"
#include "interp/interpreter.h"
#include "ops/common/registration.h"
#include "passes/pipeline.h"
#include "program/lowering.h"
#include "program/plan.h"
#include "program/run.h"
#include "program/select_kernels.h"
#include "quant/arithmetic.h"
#include "support/file.h"
#include "support/output.h"
#include "tests/conformance/cases.h"
#include "tests/support/c_batch.h"
#include "tests/support/isolate.h"

namespace qc::conformance {
namespace {

constexpr unsigned kSeconds = 300;  // of processor time, for one case

struct Options {
  std::string cases, out, filter;
  size_t shard = 0, shards = 1;
  int jobs = 2;
};

struct Verdict {
  int level = 0;
  bool frozen = false;
  std::string stage, reason;
};

/// How far a case came: the variant that came furthest explains a failure best.
int rank(const std::string& stage) {
  const char* const order[] = {"import", "interpret", "differs", "passes",
                               "lower",  "program",   "pass"};
  for (int i = 0; i < 7; ++i) {
    if (stage == order[i]) return i;
  }
  return -1;
}

std::string flat(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  return text;
}

std::string one_line(const Diag& diag) {
  std::string text = fmt::format("{}: {}", info(diag.code).name, diag.text);
  if (!diag.loc.op.empty()) text = diag.loc.op.str() + ": " + text;
  for (const std::string& note : diag.notes) text += "; " + note;
  return flat(text);
}

/// Runs one variant of one case through everything that needs no C compiler.
class CaseRun {
 public:
  CaseRun(const Case& c, const Variant& variant, const std::string& out) : case_(c), out_(out) {
    verdict_.level = variant.level;
    verdict_.frozen = variant.inputs.empty() && variant.level > 0;
    for (int i = 0; i < case_.sets; ++i) {
      auto done = run_set(i, variant);
      if (!done.ok()) {
        verdict_.reason = one_line(done.diag());
        return;
      }
    }
    verdict_.stage = "pass";
  }
  Verdict verdict() && { return std::move(verdict_); }

 private:
  Result<std::unique_ptr<Graph>> load(const Variant& variant, int set) const {
    const std::string path = fmt::format("{}/model_{}", case_.folder, variant.level);
    if (access((path + ".pt2").c_str(), R_OK) != 0) return onnx::load(path + ".onnx");
    auto graph = pt2::load(path + ".pt2");
    if (graph.ok() || graph.diag().code != Code::dim) return graph;
    QC_ASSIGN(const ImportOptions bound, sizes_of(set));
    return pt2::load(path + ".pt2", bound);
  }

  /// What is known of a set's sizes before the model is read: lines NAME=SIZE of the file dims_SET.
  Result<ImportOptions> sizes_of(int set) const {
    ImportOptions options;
    const std::string path = fmt::format("{}/dims_{}", case_.folder, set);
    if (access(path.c_str(), R_OK) != 0) return options;
    QC_ASSIGN(const std::string text, read_text(path));
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const size_t at = line.find('=');
      options.dims.emplace(line.substr(0, at), std::stoll(line.substr(at + 1)));
    }
    return options;
  }

  Result<std::vector<Tensor>> inputs_of(const Graph& graph, const DataSet& set,
                                        const Variant& variant) const {
    if (graph.inputs().size() != variant.inputs.size()) {
      return error(Code::input, "{} inputs, expected {}", graph.inputs().size(),
                   variant.inputs.size());
    }
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < variant.inputs.size(); ++i) {
      const Tensor& given = set.inputs.at(static_cast<size_t>(variant.inputs[i]));
      inputs.push_back(retyped(given, graph.inputs()[i]->dtype()));
    }
    return inputs;
  }

  /// The outputs as ONNX has them: the last ones may be `NAME_count`, each saying how many rows of
  /// NAME are meant.
  static std::vector<Tensor> without_padding(const Graph& graph, std::vector<Tensor> got,
                                             size_t own) {
    const std::vector<Output>& outputs = graph.outputs();
    for (size_t i = 0; i < own && own < got.size(); ++i) {
      if (outputs[own].name != outputs[i].name + "_count") continue;
      Ints shape = got[i].shape();
      const auto row = got[i].bytes().size() / static_cast<size_t>(std::max<int64_t>(1, shape[0]));
      shape[0] = got[own].as_int(0);
      const auto owner = std::make_shared<Tensor>(got[i]);
      got[i] = Tensor::borrow(owner->dtype(), shape,
                              owner->bytes().first(static_cast<size_t>(shape[0]) * row), owner);
      got.erase(got.begin() + static_cast<std::ptrdiff_t>(own));
    }
    return got;
  }

  Result<Ok> expect(const Graph& graph, const std::vector<Tensor>& got, const DataSet& want) const {
    const std::vector<Tensor> meant = without_padding(graph, got, want.outputs.size());
    std::string text = misses(meant, want, case_.tolerance);
    if (!text.empty()) return error(Code::mismatch, "{}", text);
    return Ok{};
  }

  Result<Ok> run_set(int index, const Variant& variant) {
    verdict_.stage = "import";
    QC_ASSIGN(DataSet set, read_set(case_, index));
    QC_ASSIGN(std::unique_ptr<Graph> graph, load(variant, index));
    QC_ASSIGN(std::vector<Tensor> inputs, inputs_of(*graph, set, variant));
    QC_ASSIGN(Bindings bindings, bindings_for(*graph, inputs));
    QC_TRY(graph->bind(bindings));
    if (!case_.arithmetic.empty()) QC_TRY(set_arithmetic(*graph, case_.arithmetic));
    QC_TRY(verify(*graph));

    // Large networks: once, on the contract graph, is enough. Quantized ones have the answers' bits
    // only there.
    if (case_.group != "light" && case_.group != "quantized") {
      verdict_.stage = "interpret";
      QC_ASSIGN(RunResult imported, interpret(*graph, inputs));
      verdict_.stage = "differs";
      QC_TRY(expect(*graph, imported.outputs, set));
    }

    verdict_.stage = "passes";
    PassContext context;
    PassOptions contract;
    contract.verify = true;
    contract.last = PassStage::quantize;
    QC_TRY(run_passes(*graph, contract, context));
    QC_ASSIGN(RunResult reference, interpret(*graph, inputs));
    QC_TRY(expect(*graph, reference.outputs, set));

    verdict_.stage = "lower";
    PassOptions rest;
    rest.verify = true;
    rest.first = PassStage::lower;
    QC_TRY(run_passes(*graph, rest, context));
    QC_ASSIGN(Program program, lower(*graph));
    QC_TRY(select_kernels(program));
    plan(program);

    verdict_.stage = "program";
    if (case_.group != "light") {
      QC_ASSIGN(ProgramResult result, run_program(program, inputs));
      QC_TRY(identical(result.outputs, reference.outputs));
    }
    return emit(index, program, inputs, reference.outputs);
  }

  /// The same bits; of a NaN only that it is one.
  static Result<Ok> identical(const std::vector<Tensor>& got, const std::vector<Tensor>& want) {
    for (size_t i = 0; i < want.size(); ++i) {
      if (same_bits(got[i], want[i])) continue;
      std::string text = describe(compare(got[i], want[i], {}), got[i], want[i]);
      return error(Code::mismatch, "output {}: not the interpreter's bits: {}", i,
                   text.empty() ? "signs of zeros differ" : text);
    }
    return Ok{};
  }

  Result<Ok> emit(int index, const Program& program, const std::vector<Tensor>& inputs,
                  const std::vector<Tensor>& outputs) const {
    std::string name = fmt::format("m{}_{}", case_.index, index);
    std::vector<NamedArray> arrays;
    for (size_t i = 0; i < inputs.size(); ++i)
      arrays.push_back({fmt::format("in_{}", i), inputs[i]});
    for (size_t i = 0; i < outputs.size(); ++i) {
      arrays.push_back({fmt::format("out_{}", i), outputs[i]});
    }
    QC_TRY(write_npz(fmt::format("{}/{}.npz", out_, name), arrays));
    // Sizes of quantized networks are static: every set runs the first one's program.
    if (index > 0 && case_.group == "quantized") return Ok{};
    return emit_c(out_ + "/c", name, program);
  }

  const Case& case_;
  const std::string& out_;
  Verdict verdict_;
};

std::string run_case(const Case& c, const std::string& out) {
  Verdict best;
  for (const Variant& variant : c.variants) {
    Verdict verdict = CaseRun(c, variant, out).verdict();
    if (rank(verdict.stage) >= rank(best.stage)) best = std::move(verdict);
    if (best.stage == "pass") break;
  }
  return fmt::format("{}\t{}\t{}\t{}", best.level, best.frozen ? "frozen" : "", best.stage,
                     best.reason);
}

Result<Ok> run(const Options& options) {
  QC_ASSIGN(std::vector<Case> all, read_cases(options.cases));
  std::vector<const Case*> mine;
  for (size_t i = 0; i < all.size(); ++i) {
    bool chosen = all[i].reason.empty() && all[i].name.find(options.filter) != std::string::npos;
    if (i % options.shards == options.shard && chosen) mine.push_back(&all[i]);
  }
  auto results = run_isolated(
      mine.size(), [&](size_t i) { return run_case(*mine[i], options.out); }, kSeconds);
  std::string text;
  for (size_t i = 0; i < mine.size(); ++i) {
    bool complete = results[i].find('\t') != std::string::npos;
    text += mine[i]->name + "\t" + (complete ? results[i] : "0\t\tcrash\t" + results[i]) + "\n";
  }
  return write_file(fmt::format("{}/run_{}.tsv", options.out, options.shard), text);
}

Result<Ok> build(const Options& options) {
  std::filesystem::create_directories(options.out + "/c");
  QC_ASSIGN(auto failed, build_c(options.out + "/c", options.jobs));
  std::string text;
  for (const auto& [name, log] : failed) text += name + "\t" + flat(log.substr(0, 300)) + "\n";
  return write_file(options.out + "/build.tsv", text);
}

/// The program that a set runs: its own, or that of the first set of its case.
std::string program_of(const CBatch& batch, const std::string& set) {
  return batch.has(set) ? set : set.substr(0, set.rfind('_')) + "_0";
}

/// Compares one compiled program with the interpreter's recorded bits; empty when they are the
/// same.
std::string check_one(const CBatch& batch, const std::string& out, const std::string& name) {
  auto arrays = read_npz(fmt::format("{}/{}.npz", out, name));
  if (!arrays.ok()) return one_line(arrays.diag());
  std::vector<Tensor> inputs, want, got;
  for (NamedArray& a : *arrays) {
    (a.name.starts_with("in_") ? inputs : want).push_back(std::move(a.tensor));
  }
  for (const Tensor& t : want) got.emplace_back(t.dtype(), t.shape());
  auto done = batch.run(program_of(batch, name), inputs, got);
  if (!done.ok()) return one_line(done.diag());
  for (size_t i = 0; i < want.size(); ++i) {
    if (same_bits(got[i], want[i])) continue;
    std::string text = describe(compare(got[i], want[i], {}), got[i], want[i]);
    return fmt::format("output {}: not the interpreter's bits: {}", i, text);
  }
  return {};
}

Result<Ok> check(const Options& options) {
  QC_ASSIGN(CBatch batch, CBatch::open(options.out + "/c"));
  std::vector<std::string> all, mine;
  for (const auto& entry : std::filesystem::directory_iterator(options.out)) {
    std::string name = entry.path().stem();
    if (entry.path().extension() == ".npz" && batch.has(program_of(batch, name))) {
      all.push_back(name);
    }
  }
  std::sort(all.begin(), all.end());
  for (size_t i = options.shard; i < all.size(); i += options.shards) mine.push_back(all[i]);
  auto results = run_isolated(
      mine.size(), [&](size_t i) { return check_one(batch, options.out, mine[i]); }, kSeconds);
  std::string text;
  for (size_t i = 0; i < mine.size(); ++i) text += mine[i] + "\t" + results[i] + "\n";
  return write_file(fmt::format("{}/check_{}.tsv", options.out, options.shard), text);
}

int main(int argc, char** argv) {
  Options options;
  std::string mode = argc > 1 ? argv[1] : "";
  int at = 2;
  if (mode == "run" && at < argc) options.cases = argv[at++];
  if (at < argc) options.out = argv[at++];
  for (; at + 1 < argc; at += 2) {
    if (std::strcmp(argv[at], "--shard") == 0) {
      std::sscanf(argv[at + 1], "%zu/%zu", &options.shard, &options.shards);
    } else if (std::strcmp(argv[at], "--filter") == 0) {
      options.filter = argv[at + 1];
    } else if (std::strcmp(argv[at], "--jobs") == 0) {
      options.jobs = std::atoi(argv[at + 1]);
    }
  }
  if (options.out.empty() || options.shards == 0) {
    fmt::print(stderr, "usage: conformance run CASES OUT | build OUT | check OUT\n");
    return 1;
  }
  register_all_ops();
  auto done = mode == "run" ? run(options) : mode == "build" ? build(options) : check(options);
  if (!done.ok()) fmt::print(stderr, "{}\n", render(done.diag()));
  return done.ok() ? 0 : 1;
}

}  // namespace
}  // namespace qc::conformance

int main(int argc, char** argv) { return qc::conformance::main(argc, argv); }
