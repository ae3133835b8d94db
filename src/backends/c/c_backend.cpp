#include "backends/c/c_backend.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/c/text.h"
#include "backends/common/weights.h"
#include "support/checked.h"

namespace qc {

namespace {
/// Frames of the functions a caller sees, down to the call of a kernel, and of functions of C's
/// library below it; tests/emitted measures them.
constexpr int64_t kEntryStack = 512, kLibraryStack = 256;
/// What a part of a split step has beside its kernel: parameters and operands of its own.
constexpr int kPartStack = 512;

/// Bytes of stack of one run: kernels run one after the other, so the deepest one counts.
int64_t stack_bytes(const Module& module, size_t entries) {
  int deepest = 0;
  for (const Module::Part& part : module.parts) {
    for_each_step(part.program.steps, [&](const Step& s) {
      const int part = std::holds_alternative<ParallelStep>(s.op) ? kPartStack : 0;
      if (const Call* c = s.call()) deepest = std::max(deepest, c->body->stack + part);
    });
  }
  return kEntryStack + deepest + kLibraryStack +
         static_cast<int64_t>((entries * sizeof(int64_t) + 15) / 16 * 16);
}

/// The most work of one run: of two branches it takes one. With `floats` that of products of floats
/// alone: fused multiply-adds.
int64_t most_macs(const Steps& steps, bool floats) {
  int64_t out = 0;
  for (const Step& s : steps) {
    int64_t own = 0;
    if (const Call* c = s.call()) {
      const bool counts = !floats || (!c->in.empty() && is_float(c->in[0].dtype));
      if (counts) own = c->macs;
    } else if (const BranchStep* branch = s.branch()) {
      own = std::max(most_macs(branch->body, floats), most_macs(branch->otherwise, floats));
    } else if (const LoopStep* loop = s.loop()) {
      own = most_macs(loop->body, floats);
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
      "up to 200 times as long. x86: -mfma or -march=native. Where the processor has none, a "
      "quantized model needs none; -DQUANTC_SLOW_FMA silences this.\")\n"
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

/// Runs may take turns between parts, so what they share is in the same place for all.
void check_parts(const Module& module) {
  const Program& program = module.program();
  for (const Module::Part& part : module.parts) {
    const Program& other = part.program;
    QC_CHECK(other.pool == program.pool, "parts of a module have other constants");
    QC_CHECK(other.arena_bytes == program.arena_bytes, "parts of a module have other arenas");
    QC_CHECK(
        other.state_bytes == program.state_bytes && other.states.size() == program.states.size(),
        "parts of a module have other states");
    for (size_t i = 0; i < program.states.size(); ++i) {
      QC_CHECK(other.buffer(other.states[i].buffer).offset ==
                   program.buffer(program.states[i].buffer).offset,
               "a state lies elsewhere in another part");
    }
  }
}
}  // namespace

Result<CReport> write_c(const Module& module, const COptions& options, const Vectors* vectors,
                        FileSet& files) {
  if (!is_c_identifier(options.name)) {
    return error(Code::usage, "'{}' cannot prefix C names: use letters, digits and underscores",
                 options.name);
  }
  check_parts(module);
  const Program& program = module.program();
  const WeightMap map = map_weights(module);
  if (options.weights == WeightForm::literal && map.bytes > (int64_t{1} << 30)) {
    return error(Code::usage,
                 "{} bytes of weights are too many for C literals: use --weights file or incbin",
                 map.bytes);
  }
  if (options.single_file && (module.parts.size() > 1 || options.weights != WeightForm::literal)) {
    return error(Code::usage,
                 "--single-file holds the code of one target with literal weights: choose a target "
                 "such as portable, and leave out --weights");
  }
  CReport report;
  report.weight_bytes = map.bytes;
  report.arena_bytes = program.arena_bytes;
  report.state_bytes = program.state_bytes;
  const std::string& name = options.name;
  const SourceText written = source_text(module, options, map);
  std::vector<SourceText> of_parts;
  size_t entries = written.entries;
  for (size_t i = 0; module.parts.size() > 1 && i < module.parts.size(); ++i) {
    of_parts.push_back(part_text(module.parts[i], options, map));
    entries = std::max(entries, of_parts.back().entries);
  }
  report.stack_bytes = stack_bytes(module, entries);
  report.macs = most_macs(program.steps, false);

  const bool by_flags = module.parts.front().target.macro.empty();
  report.fma_by_flags = by_flags ? most_macs(program.steps, true) : 0;

  QC_ASSIGN(WrittenWeights weights, write_weights(*program.pool, map, options, files));
  report.not_finite = std::move(weights.not_finite);
  const std::string header = header_text(module, options, report, weights.hash);
  const std::string note = report.fma_by_flags > 0 ? fma_note(name) : "";
  if (options.single_file) {
    // The weights stand in it already.
    // Outside of a header clang warns of inline functions that nobody calls.
    const std::string quiet =
        "#if defined(__clang__)\n#pragma clang diagnostic push\n"
        "#pragma clang diagnostic ignored \"-Wunused-function\"\n#endif\n" +
        header + "#if defined(__clang__)\n#pragma clang diagnostic pop\n#endif\n";
    std::string text = with_text(written.text, name + ".h", quiet);
    text = with_text(std::move(text), name + "_kernels.h",
                     note + kernels_text(module.parts[0], options));
    QC_TRY(files.append(text.data(), text.size()));
    QC_TRY(files.end());
  } else {
    QC_TRY(files.write(name + ".c", written.text));
  }
  QC_TRY(files.write(name + ".h", header));
  if (module.parts.size() == 1 && !options.single_file) {
    QC_TRY(files.write(name + "_kernels.h", note + kernels_text(module.parts[0], options)));
  }
  if (module.parts.size() > 1) {
    for (size_t i = 0; i < module.parts.size(); ++i) {
      const Module::Part& part = module.parts[i];
      const std::string stem = part_stem(options, part.target);
      QC_TRY(files.write(stem + ".c", of_parts[i].text));
      QC_TRY(files.write(stem + "_kernels.h", kernels_text(part, options)));
    }
  }
  if (options.project) {
    QC_TRY(files.write("Makefile", makefile_text(module, options)));
    QC_TRY(files.write("CMakeLists.txt", cmake_text(module, options)));
    QC_TRY(write_test(module, options, vectors, files));
  }
  return report;
}

std::vector<std::string> c_sources(const Module& module, const COptions& options) {
  std::vector<std::string> out{options.name + ".c"};
  for (size_t i = 0; module.parts.size() > 1 && i < module.parts.size(); ++i)
    out.push_back(part_stem(options, module.parts[i].target) + ".c");
  return out;
}

}  // namespace qc
