#include "backends/cuda/cuda_backend.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/cuda/text.h"
#include "program/device.h"

namespace qc {
namespace {

/// The steps that the host would have to read the device's memory for.
void find_flow(const Steps& steps, std::vector<const Step*>& found) {
  for (const Step& s : steps) {
    if (s.loop() || (s.branch() && s.branch()->condition.present())) {
      found.push_back(&s);
    } else if (const BranchStep* branch = s.branch()) {
      find_flow(branch->body, found);
      find_flow(branch->otherwise, found);
    }
  }
}

/// What code for CUDA cannot do in a program, each with its place.
std::vector<Diag> refusals(const Program& program) {
  std::vector<Diag> out;
  std::vector<const Step*> flow;
  find_flow(program.steps, flow);
  for (const Step* step : flow)
    out.push_back(error(Code::unsupported, step->loc,
                        "code for target cuda has no branches and loops that values decide"));
  for (const Step& step : program.steps) {
    if (!program.dims.empty() && is_host_step(program, step))
      out.push_back(error(Code::unsupported, step.loc,
                          "a step of the host takes no free dimensions: give numbers"));
  }
  return out;
}

class CudaBackend : public Backend {
 public:
  std::string_view language() const override { return Language::cuda; }
  std::string_view title() const override { return "CUDA"; }
  std::string_view extension() const override { return ".cu"; }
  Result<Ok> check(const Target& target, const ProjectOptions& options) const override {
    if (options.single_file)
      return error(Code::usage, "--single-file is for C, not for target {}", target.name);
    if (options.threads)
      return error(Code::usage, "target {} has threads of its own: leave out --threads",
                   target.name);
    return Ok{};
  }

 protected:
  Result<Ok> check(const Module& module, const ProjectOptions&, const WeightMap&) const override {
    for (const Module::TargetProgram& compiled : module.programs) {
      const std::vector<Diag> all = refusals(compiled.program);
      if (all.empty()) continue;
      Diag diag = all.front();
      for (size_t i = 1; i < all.size(); ++i) {
        const auto& names = all[i].loc.names;
        diag.notes.push_back(
            names.empty() ? all[i].text
                          : fmt::format("layer '{}': {}", fmt::join(names, " + "), all[i].text));
      }
      return diag;
    }
    return Ok{};
  }

  Result<Ok> write_sources(Project& project, FileSet& files) const override {
    static constexpr std::string_view kHeaders[] = {
        "runtime/cuda/launch.h",      "runtime/cuda/deploy.h",  "runtime/cuda/profile.h",
        "runtime/cuda/graph_cache.h", "runtime/cuda/session.h", "kernels/common/vectors.h",
        "kernels/common/cuda.h"};
    const ProjectOptions& options = project.options;
    const std::string& name = options.name;
    const auto& programs = project.module.programs;
    QC_TRY(files.write(name + ".h", cuda::header_text(project)));
    QC_TRY(files.write(name + ".cu", cuda::source_text(project)));
    // Bodies for newer GPUs are part of code for all: that for older ones leaves them out.
    const std::string fat = programs.size() > 1 ? "#define QK_FAT 1\n" : "";
    return files.write(name + "_kernels.h", fat + kernels_text(programs, options, kHeaders));
  }

  std::vector<TextFile> build_files(const Project& project) const override {
    return {{"Makefile", cuda::makefile_text(project)},
            {"CMakeLists.txt", cuda::cmake_text(project)}};
  }

  Result<Ok> write_test(const Project& project, FileSet& files) const override {
    return cuda::write_test(project, files);
  }
};

}  // namespace

const Backend& cuda_backend() {
  static const CudaBackend backend;
  return backend;
}

}  // namespace qc
