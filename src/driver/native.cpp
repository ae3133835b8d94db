#include "driver/native.h"

namespace qc {

Result<NativeModel> NativeModel::build(const Graph& graph, Options options,
                                       const BuildOptions& build) {
  options.weights = options.weights == "file" ? "incbin" : options.weights;
  QC_ASSIGN(auto copied, copy(graph));
  QC_ASSIGN(Program program, make_program(*copied, options));
  QC_ASSIGN(COptions backend, c_options(options, graph.file));
  backend.project = false;
  QC_ASSIGN(TemporaryFolder folder, TemporaryFolder::create());
  QC_ASSIGN(FileSet files, FileSet::create(folder.path()));
  QC_TRY(write_c(program, backend, nullptr, files));
  QC_TRY(files.commit());
  const bool incbin = backend.weights == WeightForm::incbin;
  BuildOptions flags = build;
  if (incbin) flags.flags.push_back("-Wa,-I," + folder.path());
  QC_ASSIGN(auto library, Library::build(folder.path(),
                                         {backend.name + ".c",
                                          backend.name + (incbin ? "_weights.S" : "_weights.c")},
                                         flags));
  return NativeModel(std::move(program), backend.name, std::move(library));
}

}  // namespace qc
