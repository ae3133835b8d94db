#include "driver/native.h"

namespace qc {

Result<NativeModel> NativeModel::build(const Graph& graph, Options options,
                                       const BuildOptions& build) {
  options.weights = options.weights == "file" ? "incbin" : options.weights;
  QC_ASSIGN(auto copied, copy(graph));
  Family family;
  if (options.ranges.empty()) {
    QC_ASSIGN(Program program, make_program(*copied, options));
    family.programs.push_back(std::move(program));
  } else {
    QC_ASSIGN(family, make_family(*copied, options));
  }
  const Programs programs =
      family.symbol.empty() ? Programs(family.programs.back()) : Programs(family);
  QC_ASSIGN(COptions backend, c_options(options, graph.file));
  backend.project = false;
  QC_ASSIGN(const ScratchFolder folder, ScratchFolder::create());
  QC_ASSIGN(FileSet files, FileSet::create(folder.path()));
  QC_TRY(write_c(programs, backend, nullptr, files));
  QC_TRY(files.commit());
  const bool incbin = backend.weights == WeightForm::incbin;
  BuildOptions flags = build;
  if (incbin) flags.flags.push_back("-Wa,-I," + folder.path());
  QC_ASSIGN(auto library, Library::build(folder.path(),
                                         {backend.name + ".c",
                                          backend.name + (incbin ? "_weights.S" : "_weights.c")},
                                         flags));
  return NativeModel(std::move(family), backend.name, std::move(library));
}

Result<NativeResult> NativeModel::run(const std::vector<Tensor>& inputs) const {
  if (family_.symbol.empty()) return run_native(*library_, name_, family_.programs.back(), inputs);
  std::vector<std::vector<int64_t>> shapes;
  for (const Tensor& t : inputs) shapes.push_back(t.shape());
  const Program* program = family_.find(shapes);
  if (!program) {
    return error(Code::input, "no {} from {} to {} makes these shapes of inputs", family_.symbol,
                 family_.min, family_.max);
  }
  const auto at = static_cast<size_t>(program - family_.programs.data());
  return run_native(*library_, name_, *program, inputs, {}, {family_.sizes[at]});
}

}  // namespace qc
