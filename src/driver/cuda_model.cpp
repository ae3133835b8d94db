#include "driver/cuda_model.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

#include "backends/registry.h"
#include "program/bind.h"

namespace qc {
namespace {

/// Whether a shell would find the program.
bool in_path(const std::string& program) {
  if (program.find('/') != program.npos) return ::access(program.c_str(), X_OK) == 0;
  const char* path = std::getenv("PATH");
  std::string_view rest = path ? path : "";
  while (!rest.empty()) {
    const size_t colon = rest.find(':');
    const std::string folder(rest.substr(0, colon));
    if (!folder.empty() && ::access((folder + "/" + program).c_str(), X_OK) == 0) return true;
    rest.remove_prefix(colon == rest.npos ? rest.size() : colon + 1);
  }
  return false;
}

/// The layout of NAME_analysis.
struct Analysis {
  int launches;
  double host_us_per_launch;
  double device_us, device_us_graph, host_us, host_us_graph;
  int64_t weight_bytes, arena_bytes;
  int deployment;
  const char* reason;
};
constexpr int kConservative = 1;

}  // namespace

struct CudaModel::Handle {
  std::shared_ptr<Library> library;
  std::string name;
  void* handle = nullptr;

  template <class F>
  F function(const char* what) const {
    return reinterpret_cast<F>(library->symbol(name + what));
  }
  std::string error_text() const {
    const auto text = function<const char* (*)(const void*)>("_error_text");
    return handle ? text(handle) : "the host has no memory";
  }
  ~Handle() {
    if (library && handle) function<void (*)(void*)>("_destroy")(handle);
  }
};

Result<CudaModel> CudaModel::build(const Graph& graph, const Options& options, bool host) {
  const char* given = std::getenv("NVCC");
  const std::string nvcc = given && *given ? given : "nvcc";
  if (!host && !in_path(nvcc)) {
    return error(Code::unsupported,
                 "code for target {} is built by nvcc, and there is no '{}': install the CUDA "
                 "toolkit or name it with NVCC=, or take --host, which runs the code without a GPU",
                 options.target, nvcc);
  }
  QC_ASSIGN(auto copied, copy(graph));
  PassContext context;
  QC_ASSIGN(Module made, make_module(*copied, options, context));
  auto module = std::make_shared<const Module>(std::move(made));
  QC_ASSIGN(ProjectOptions project, project_options(options, graph.file));
  if (project.weights == WeightForm::file) project.weights = WeightForm::incbin;
  QC_ASSIGN(const ScratchFolder folder, ScratchFolder::create());
  QC_ASSIGN(FileSet files, FileSet::create(folder.path()));
  QC_TRY(backend_of(module->parts.front().target).write(*module, project, nullptr, files));
  QC_TRY(files.commit());
  const std::string library = "lib" + project.name + ".so";
  // HOST stands here in any case: some shells have a variable of that name.
  std::vector<std::string> command = {"make",        "-s",    "-C",
                                      folder.path(), library, host ? "HOST=1" : "HOST="};
  if (!host) command.push_back("NVCC=" + nvcc);
  QC_TRY(run_tool(command));
  auto handle = std::make_shared<Handle>();
  handle->name = project.name;
  QC_ASSIGN(handle->library, Library::open(folder.path() + "/" + library));
  const auto create = handle->function<int (*)(const void*, void**)>("_create");
  if (!create) return error(Code::bug, "the library has no model '{}'", project.name);
  if (const int status = create(nullptr, &handle->handle); status != 0) {
    return error(Code::unsupported,
                 "no GPU here runs code for target {}: {}; --host runs the code without one",
                 options.target, handle->error_text());
  }
  return CudaModel(std::move(module), std::move(handle));
}

Result<NativeResult> CudaModel::run(const std::vector<Tensor>& inputs) const {
  if (inputs.size() != program().inputs.size())
    return error(Code::input, "{} inputs for {}", inputs.size(), program().inputs.size());
  std::vector<int64_t> dims;
  Bindings sizes;
  if (!program().dims.empty()) {
    std::vector<std::vector<int64_t>> shapes;
    for (const Tensor& t : inputs) shapes.push_back(t.shape());
    QC_ASSIGN(sizes, sizes_of(program(), shapes));
    for (const FreeDim& d : program().dims) dims.push_back(sizes.at(d.name));
  }
  const Program p = bound(program(), sizes);
  std::vector<const void*> in;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!(Type(inputs[i].dtype(), to_dims(inputs[i].shape())) ==
          Type(p.inputs[i].type.dtype, p.inputs[i].type.shape))) {
      return error(Code::input, Loc{{}, {p.inputs[i].name}, "input"}, "an array of {}{} for {}",
                   name(inputs[i].dtype()), str(to_dims(inputs[i].shape())), str(p.inputs[i].type));
    }
    in.push_back(inputs[i].bytes().data());
  }
  NativeResult result;
  std::vector<void*> out;
  for (const Port& port : p.outputs)
    result.outputs.emplace_back(port.type.dtype, static_dims(port.type.shape));
  for (Tensor& t : result.outputs) out.push_back(t.mutable_bytes().data());
  using Run = int (*)(void*, const void* const*, void* const*);
  using RunSizes = int (*)(void*, const int64_t*, const void* const*, void* const*);
  const auto run = handle_->function<Run>("_run_host");
  const auto run_sizes = handle_->function<RunSizes>("_run_host");
  const auto begin = std::chrono::steady_clock::now();
  const int status = dims.empty() ? run(handle_->handle, in.data(), out.data())
                                  : run_sizes(handle_->handle, dims.data(), in.data(), out.data());
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  if (status != 0)
    return error(Code::bug, "model '{}' failed: {}", handle_->name, handle_->error_text());
  result.seconds = spent.count();
  return result;
}

Result<CudaFigures> CudaModel::figures() const {
  Analysis found{};
  std::vector<int64_t> largest;
  for (const FreeDim& d : program().dims) largest.push_back(d.max);
  const auto analyze = handle_->function<int (*)(void*, Analysis*)>("_analyze");
  const auto analyze_sizes =
      handle_->function<int (*)(void*, const int64_t*, Analysis*)>("_analyze");
  const int status = largest.empty() ? analyze(handle_->handle, &found)
                                     : analyze_sizes(handle_->handle, largest.data(), &found);
  if (status != 0)
    return error(Code::bug, "model '{}' failed: {}", handle_->name, handle_->error_text());
  const bool plain = found.deployment == kConservative;
  return CudaFigures{found.launches, plain ? found.device_us : found.device_us_graph,
                     plain ? found.host_us : found.host_us_graph};
}

}  // namespace qc
