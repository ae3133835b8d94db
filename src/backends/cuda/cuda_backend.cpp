#include "backends/cuda/cuda_backend.h"

#include <algorithm>

#include "backends/cuda/text.h"

namespace qc {
namespace {

Result<Ok> check_supported(const Module& module, const ProjectOptions& options) {
  const Program& program = module.program();
  if (!program.dims.empty())
    return error(Code::unsupported, "code for target cuda has no free dimensions: give numbers");
  if (!program.states.empty())
    return error(Code::unsupported, "code for target cuda keeps no state: use --state io");
  const auto& steps = program.steps;
  const auto flow = std::find_if(steps.begin(), steps.end(),
                                 [](const Step& s) { return s.branch() || s.loop(); });
  if (flow != steps.end())
    return error(Code::unsupported, flow->loc, "code for target cuda has no branches and loops");
  if (options.weights == WeightForm::file)
    return error(Code::unsupported,
                 "code for target cuda holds its weights: use --weights literal or incbin");
  return Ok{};
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
  Result<Ok> check(const Module& module, const ProjectOptions& options,
                   const WeightMap&) const override {
    return check_supported(module, options);
  }

  Result<Ok> write_sources(Project& project, FileSet& files) const override {
    const Program& program = project.module.program();
    const ProjectOptions& options = project.options;
    const std::string& name = options.name;
    QC_TRY(files.write(name + ".h", cuda::header_text(program, project.module, options,
                                                      project.report, project.weight_hash)));
    QC_TRY(files.write(name + ".cu", cuda::source_text(program, options, project.weights)));
    return files.write(name + "_kernels.h", kernels_text(project.module.parts.front(), options));
  }

  std::vector<TextFile> build_files(const Project& project) const override {
    return {
        {"Makefile", cuda::makefile_text(project.module.parts.front().target, project.options)}};
  }

  Result<Ok> write_test(const Project& project, FileSet& files) const override {
    return cuda::write_test(project.module.program(), project.options, project.vectors, files);
  }
};

}  // namespace

const Backend& cuda_backend() {
  static const CudaBackend backend;
  return backend;
}

}  // namespace qc
