#include "backends/c/c_backend.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/c/text.h"
#include "program/split.h"
#include "support/checked.h"
#include "support/counted.h"

namespace qc {

namespace {
/// Frames of the functions a caller sees, down to the call of a kernel, and of functions of C's
/// library below it; tests/emitted measures them.
constexpr int64_t kEntryStack = 512, kLibraryStack = 256;
/// What a part of a split step has beside its kernel: parameters and operands of its own.
constexpr int kSubrangeStack = 512;

/// Bytes of stack of one run: kernels run one after the other, so the deepest one counts.
int64_t stack_bytes(const Module& module, size_t entries) {
  int deepest = 0;
  for (const Module::TargetProgram& compiled : module.programs) {
    for_each_step(compiled.program.steps, [&](const Step& s) {
      const int extra = std::holds_alternative<ParallelStep>(s.op) ? kSubrangeStack : 0;
      if (const Call* c = s.call()) deepest = std::max(deepest, c->body->stack + extra);
    });
  }
  return kEntryStack + deepest + kLibraryStack +
         static_cast<int64_t>((entries * sizeof(int64_t) + 15) / 16 * 16);
}

/// Multiply-accumulates of floats, which are fused: of two branches a run takes one.
int64_t most_fused(const Steps& steps) {
  int64_t out = 0;
  for (const Step& s : steps) {
    int64_t own = 0;
    if (const Call* c = s.call()) {
      own = !c->in.empty() && is_float(c->in[0].dtype) ? c->macs : 0;
    } else if (const BranchStep* branch = s.branch()) {
      own = std::max(most_fused(branch->body), most_fused(branch->otherwise));
    } else if (const LoopStep* loop = s.loop()) {
      own = most_fused(loop->body);
    }
    out = saturating_add(out, own);
  }
  return out;
}

/// Portable code takes the instruction from the compiler's flags: where they have none, every
/// multiply-add calls the C library, and whoever builds it is told.
std::string fma_note(const std::string& name) {
  return fmt::format(
      "#if !defined(__FMA__) && !defined(__FP_FAST_FMAF) && !defined(__ARM_FEATURE_FMA) && \\\n"
      "    !defined(__aarch64__) && !defined(QUANTC_SLOW_FMA)\n"
      "#pragma message(\"{}: no fma instruction with these flags: float products call fmaf and "
      "take "
      "up to 200 times as long. x86: -mfma or -march=native. For a processor that has none, "
      "compile with --arithmetic dot=mul_add or quantize the model; -DQUANTC_SLOW_FMA silences "
      "this.\")\n"
      "#endif\n",
      name);
}

/// `text` with what it includes in place of the line that includes it.
std::string with_text(std::string text, const std::string& included, const std::string& by) {
  const std::string line = fmt::format("#include \"{}\"\n", included);
  const size_t at = text.find(line);
  QC_CHECK(at != std::string::npos, "a source does not include its own file");
  return text.replace(at, line.size(), by);
}

/// Splits what is large among threads, where they are asked for.
void split_large(Program& program, const ProjectOptions& options,
                 std::vector<std::string>& remarks) {
  if (!options.threads) return;
  const auto count = split(program);
  remarks.push_back(
      fmt::format("{} {} split among threads", counted(count, "step"), count == 1 ? "is" : "are"));
}

constexpr BackendPass kPasses[] = {
    {"split", 1, split_large, "with --threads: large calls become parallel steps"},
};

/// Everything but the header in one file, in which the weights stand already.
Result<Ok> write_single(const Project& project, const std::string& source,
                        const std::string& header, const std::string& note, FileSet& files) {
  // Outside of a header clang warns of inline functions that nobody calls.
  const std::string quiet =
      "#if defined(__clang__)\n#pragma clang diagnostic push\n"
      "#pragma clang diagnostic ignored \"-Wunused-function\"\n#endif\n" +
      header + "#if defined(__clang__)\n#pragma clang diagnostic pop\n#endif\n";
  const std::string& name = project.options.name;
  std::string text = with_text(source, name + ".h", quiet);
  text = with_text(std::move(text), name + "_kernels.h",
                   note + kernels_text({&project.module.programs[0], 1}, project.options));
  QC_TRY(files.append(text.data(), text.size()));
  return files.end();
}

class CBackend : public Backend {
 public:
  std::string_view language() const override { return Language::c; }
  std::string_view title() const override { return "C"; }
  std::string_view extension() const override { return ".c"; }
  std::span<const BackendPass> passes() const override { return kPasses; }
  Result<Ok> check(const Target&, const ProjectOptions&) const override { return Ok{}; }

 protected:
  bool names_weights() const override { return true; }
  Result<Ok> check(const Module& module, const ProjectOptions& options,
                   const WeightMap& weights) const override {
    if (options.weights == WeightStorage::literal && weights.bytes > (int64_t{1} << 30)) {
      return error(Code::usage,
                   "{} bytes of weights are too many for C literals: use --weights file or incbin",
                   weights.bytes);
    }
    if (options.single_file &&
        (module.programs.size() > 1 || options.weights != WeightStorage::literal)) {
      return error(
          Code::usage,
          "--single-file holds the code of one target with literal weights: choose a target "
          "such as portable, and leave out --weights");
    }
    return Ok{};
  }

  Result<Ok> write_sources(Project& project, FileSet& files) const override {
    const Module& module = project.module;
    const ProjectOptions& options = project.options;
    const std::string& name = options.name;
    const bool several = module.programs.size() > 1;
    const SourceText written = source_text(module, options, project.weights);
    std::vector<SourceText> of_programs;
    size_t entries = written.entries;
    for (size_t i = 0; several && i < module.programs.size(); ++i) {
      of_programs.push_back(program_text(module.programs[i], options, project.weights));
      entries = std::max(entries, of_programs.back().entries);
    }
    project.report.stack_bytes = stack_bytes(module, entries);
    const Program& first = module.program();
    const int64_t float_macs = most_fused(first.steps);
    if (module.programs.front().target.macro.empty() && first.dot == DotStep::fma)
      project.report.fma_by_flags = float_macs;
    ProjectReport& report = project.report;
    report.notes_floats = module.programs.front().target.machine.empty() && float_macs == 0 &&
                          report.macs > 0 && report.float_steps > 0;
    const std::string header = header_text(module, options, project.report, project.weight_hash);
    const std::string note = project.report.fma_by_flags > 0 ? fma_note(name) : "";
    if (options.single_file) {
      QC_TRY(write_single(project, written.text, header, note, files));
    } else {
      QC_TRY(files.write(name + ".c", written.text));
    }
    QC_TRY(files.write(name + ".h", header));
    if (!several && !options.single_file)
      QC_TRY(
          files.write(name + "_kernels.h", note + kernels_text({&module.programs[0], 1}, options)));
    for (size_t i = 0; i < of_programs.size(); ++i) {
      const std::string stem = program_stem(options, module.programs[i].target);
      QC_TRY(files.write(stem + ".c", of_programs[i].text));
      QC_TRY(files.write(stem + "_kernels.h", kernels_text({&module.programs[i], 1}, options)));
    }
    return Ok{};
  }

  std::vector<TextFile> build_files(const Project& project) const override {
    return {{"Makefile", makefile_text(project.module, project.options)},
            {"CMakeLists.txt", cmake_text(project.module, project.options)}};
  }

  Result<Ok> write_test(const Project& project, FileSet& files) const override {
    return qc::write_test(project.module, project.options, project.vectors, files);
  }
};

}  // namespace

const Backend& c_backend() {
  static const CBackend backend;
  return backend;
}

std::vector<std::string> c_sources(const Module& module, const COptions& options) {
  std::vector<std::string> out{options.name + ".c"};
  for (size_t i = 0; module.programs.size() > 1 && i < module.programs.size(); ++i)
    out.push_back(program_stem(options, module.programs[i].target) + ".c");
  return out;
}

}  // namespace qc
