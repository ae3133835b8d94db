#include "backends/common/backend.h"

#include <algorithm>

#include "backends/common/named_weights.h"
#include "backends/common/spaces.h"
#include "program/floats.h"
#include "support/checked.h"

namespace qc {
namespace {

/// The most work of one run: of two branches it takes one.
int64_t most_macs(const Steps& steps) {
  int64_t out = 0;
  for (const Step& s : steps) {
    int64_t own = 0;
    if (const Call* c = s.call()) {
      own = c->macs;
    } else if (const BranchStep* branch = s.branch()) {
      own = std::max(most_macs(branch->body), most_macs(branch->otherwise));
    } else if (const LoopStep* loop = s.loop()) {
      own = most_macs(loop->body);
    }
    out = saturating_add(out, own);
  }
  return out;
}

/// Runs may alternate between parts, so what they share is in the same place for all.
void check_programs(const Module& module) {
  const Program& program = module.program();
  for (const Module::TargetProgram& compiled : module.programs) {
    const Program& other = compiled.program;
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

Result<ProjectReport> Backend::write(const Module& module, const ProjectOptions& options,
                                     const Vectors* vectors, FileSet& files) const {
  if (!is_c_identifier(options.name)) {
    return error(Code::usage, "'{}' cannot prefix C names: use letters, digits and underscores",
                 options.name);
  }
  QC_TRY(check(module.programs.front().target, options));
  check_programs(module);
  const Program& program = module.program();
  WeightMap map = map_weights(module);
  if (names_weights()) QC_TRY(name_weights(module, options, map));
  QC_TRY(check(module, options, map));
  Project project{module, options, vectors, map};
  project.report.weight_bytes = map.bytes;
  project.report.arena_bytes = program.arena_bytes;
  project.report.state_bytes = program.state_bytes;
  project.report.macs = most_macs(program.steps);
  project.report.float_steps = static_cast<int64_t>(float_steps(program).size());
  project.report.spaces = memory_of(module, map);
  QC_ASSIGN(WrittenWeights weights, write_weights(*program.pool, map, options, files));
  project.report.not_finite = std::move(weights.not_finite);
  project.weight_hash = weights.hash;
  QC_TRY(write_sources(project, files));
  if (!options.project) return project.report;
  for (const TextFile& file : build_files(project)) QC_TRY(files.write(file.name, file.text));
  QC_TRY(write_test(project, files));
  return project.report;
}

}  // namespace qc
