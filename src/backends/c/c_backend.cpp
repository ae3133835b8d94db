#include "backends/c/c_backend.h"

#include <algorithm>

#include "backends/c/text.h"
#include "backends/c/weights.h"
#include "support/checked.h"

namespace qc {

namespace {
/// Frames of the functions a caller sees, down to the call of a kernel, and of functions of C's
/// library below it; tests/emitted measures them.
constexpr int64_t kEntryStack = 512, kLibraryStack = 256;

/// Bytes of stack of one run: kernels run one after the other, so the deepest one counts.
int64_t stack_bytes(std::span<const Program> programs) {
  int deepest = 0;
  for (const Program& program : programs) {
    for_each_step(program.steps, [&](const Step& s) {
      if (const Call* c = s.call()) deepest = std::max(deepest, c->body->stack);
    });
  }
  return kEntryStack + deepest + kLibraryStack;
}
}  // namespace

Result<CReport> write_c(const Programs& programs, const COptions& options, const Vectors* vectors,
                        FileSet& files) {
  if (!is_c_identifier(options.name)) {
    return error(Code::usage, "'{}' cannot prefix C names: use letters, digits and underscores",
                 options.name);
  }
  const Program& program = programs.largest();
  const WeightMap map = map_weights(programs);
  if (options.weights == WeightForm::literal && map.bytes > (int64_t{1} << 30)) {
    return error(Code::usage,
                 "{} bytes of weights are too many for C literals: use --weights file or incbin",
                 map.bytes);
  }
  CReport report;
  report.weight_bytes = map.bytes;
  report.arena_bytes = program.arena_bytes;
  report.state_bytes = program.state_bytes;
  report.stack_bytes = stack_bytes(programs.all);
  for_each_step(program.steps, [&](const Step& s) {
    report.macs = saturating_add(report.macs, s.call() ? s.call()->macs : 0);
  });

  QC_ASSIGN(WrittenWeights weights, write_weights(*program.pool, map, options, files));
  report.not_finite = std::move(weights.not_finite);
  const std::string& name = options.name;
  QC_TRY(files.write(name + ".h", header_text(programs, options, report, weights.hash)));
  QC_TRY(files.write(name + ".c", source_text(programs, options, map)));
  QC_TRY(files.write(name + "_kernels.h", kernels_text(programs, options)));
  if (options.project) {
    QC_TRY(files.write("Makefile", makefile_text(options)));
    QC_TRY(files.write("CMakeLists.txt", cmake_text(options)));
    QC_TRY(write_test(programs, options, vectors, files));
  }
  return report;
}

}  // namespace qc
