#include "driver/native.h"

#include "driver/index_checks.h"
#include "program/bind.h"

namespace qc {

Result<NativeModel> NativeModel::build(const Graph& graph, Options options,
                                       const BuildOptions& build) {
  options.weights = options.weights == "file" ? "incbin" : options.weights;
  QC_ASSIGN(auto copied, copy(graph));
  PassContext context;
  QC_ASSIGN(Module module, make_module(*copied, options, context));
  QC_ASSIGN(ProjectOptions backend, project_options(options, graph.file));
  if (backend.check_indices) backend.index_checks = index_checks(graph);
  const Target& target = module.programs.front().target;
  if (target.language != Language::c)
    return error(Code::bug, "code for target {} is no C", target.name);
  backend.project = false;
  QC_ASSIGN(const ScratchFolder folder, ScratchFolder::create());
  QC_ASSIGN(FileSet files, FileSet::create(folder.path()));
  QC_TRY(write_c(module, backend, nullptr, files));
  QC_TRY(files.commit());
  const bool incbin = backend.weights == WeightStorage::incbin;
  BuildOptions flags = build;
  if (flags.flags.empty()) {
    flags.flags = {"-O2"};
    if (backend.machine.empty()) flags.flags.push_back("-march=native");
  }
  if (incbin) flags.flags.push_back("-Wa,-I," + folder.path());
  std::vector<std::string> sources = c_sources(module, backend);
  sources.push_back(backend.name + (incbin ? "_weights.S" : "_weights.c"));
  auto library = Library::build(folder.path(), sources, flags);
  if (!library.ok()) {
    Diag diag = library.diag();
    if (!build.compiler.empty())
      diag.notes.push_back(
          "the code runs here, so the compiler must build for this machine; for "
          "another one, compile --vectors writes a test program to build there");
    return diag;
  }
  return NativeModel(std::move(module), backend.name, std::move(*library), options.threads);
}

Result<NativeResult> NativeModel::run(const std::vector<Tensor>& inputs, int more) const {
  const Program& program = module_.program();
  std::vector<std::vector<int64_t>> shapes;
  for (const Tensor& t : inputs) shapes.push_back(t.shape());
  QC_ASSIGN(const Bindings sizes, sizes_of(program, shapes));
  std::vector<int64_t> dims;
  for (const FreeDim& d : program.dims) dims.push_back(sizes.at(d.name));
  return run_native(*library_, name_, bound(program, sizes), inputs, {}, dims, threads_.get(),
                    more);
}

}  // namespace qc
