#include "driver/cuda_model.h"

#include <chrono>
#include <cstdlib>
#include <cstring>

#include "backends/common/steps.h"
#include "backends/registry.h"
#include "driver/tool.h"
#include "program/bind.h"
#include "program/size_conditions.h"

namespace qc {
namespace {

/// The layout of NAME_analysis.
struct Analysis {
  int launches;
  double host_us_per_launch;
  double device_us, device_us_graph, host_us, host_us_graph;
  int64_t weight_bytes, arena_bytes;
  int deployment;
  const char* reason;
};
constexpr int kConservative = 1, kBadIndex = 8;

/// What NAME_profile tells of a kernel.
struct KernelTime {
  std::string layer, symbol;
  double device_us;
};
using TellFunction = void (*)(void*, const char*, const char*, double);
void tell(void* data, const char* layer, const char* kernel, double device_us) {
  static_cast<std::vector<KernelTime>*>(data)->push_back({layer, kernel, device_us});
}

/// The calls that the callback was given, in the program's order; fewer where it has not all of
/// them.
void match(const Steps& steps, const std::vector<KernelTime>& times, std::vector<StepTime>& out) {
  for (const Step& s : steps) {
    if (const BranchStep* branch = s.branch()) {
      match(by_sizes(*branch).value() != 0 ? branch->body : branch->otherwise, times, out);
      continue;
    }
    const Call* c = s.call();
    if (!c || !c->body || out.size() == times.size()) continue;
    const KernelTime& next = times[out.size()];
    if (c->body->symbol == next.symbol && StepPrinter::layers(s) == next.layer)
      out.push_back(step_time(s, c->body, 1e-6 * next.device_us));
  }
}

std::vector<int64_t> dims_of(const Program& program, const Bindings& sizes) {
  std::vector<int64_t> out;
  for (const FreeDim& d : program.dims) out.push_back(sizes.at(d.name));
  return out;
}

}  // namespace

struct CudaModel::Handle {
  std::shared_ptr<Library> library;
  std::string name;
  void* handle = nullptr;

  template <class F>
  F function(const char* what) const {
    return reinterpret_cast<F>(library->symbol(name + what));
  }
  /// Calls a function that is handed the sizes of the run where there are any.
  template <class... Args>
  Result<Ok> call(const char* what, const std::vector<int64_t>& dims, Args... args) const {
    const int status = dims.empty() ? function<int (*)(void*, Args...)>(what)(handle, args...)
                                    : function<int (*)(void*, const int64_t*, Args...)>(what)(
                                          handle, dims.data(), args...);
    if (status == kBadIndex) return error(Code::input, "model '{}': {}", name, error_text());
    if (status != 0) return error(Code::bug, "model '{}' failed: {}", name, error_text());
    return Ok{};
  }
  std::string error_text() const {
    const auto text = function<const char* (*)(const void*)>("_error_text");
    return handle ? text(handle) : "the host has no memory";
  }
  ~Handle() {
    if (library && handle) function<void (*)(void*)>("_destroy")(handle);
  }
};

std::string nvcc_program() {
  const char* given = std::getenv("NVCC");
  return given && *given ? given : "nvcc";
}

Result<CudaModel> CudaModel::build(const Graph& graph, const Options& options, bool host) {
  const std::string nvcc = nvcc_program();
  if (!host && find_tool(nvcc).empty()) {
    return error(
        Code::unsupported,
        "code for target {} is built by nvcc, and there is no '{}': install the CUDA "
        "toolkit or name it with NVCC=, or take --host, which runs the code without a GPU, or "
        "--target native",
        options.target, nvcc);
  }
  QC_ASSIGN(auto copied, copy(graph));
  PassContext context;
  QC_ASSIGN(Module made, make_module(*copied, options, context));
  auto module = std::make_shared<const Module>(std::move(made));
  QC_ASSIGN(ProjectOptions project, project_options(options, graph.file));
  if (project.weights == WeightStorage::file) project.weights = WeightStorage::incbin;
  QC_ASSIGN(const ScratchFolder folder, ScratchFolder::create());
  QC_ASSIGN(FileSet files, FileSet::create(folder.path()));
  QC_TRY(backend_of(module->programs.front().target).write(*module, project, nullptr, files));
  QC_TRY(files.commit());
  const std::string library = "lib" + project.name + ".so";
  // HOST stands here in any case: some shells have a variable of that name.
  std::vector<std::string> command = {"make", "-s", library, host ? "HOST=1" : "HOST="};
  if (!host) command.push_back("NVCC=" + find_tool(nvcc));
  QC_TRY(run_tool({command, kDeviceCompilerLimits, folder.path()}));
  auto handle = std::make_shared<Handle>();
  handle->name = project.name;
  QC_ASSIGN(handle->library, Library::open(folder.path() + "/" + library));
  const auto create = handle->function<int (*)(const void*, void**)>("_create");
  if (!create) return error(Code::bug, "the library has no model '{}'", project.name);
  if (const int status = create(nullptr, &handle->handle); status != 0) {
    return error(
        Code::unsupported,
        "no GPU here runs code for target {}: {}; --host runs the code without one, --target "
        "native the code for this machine",
        options.target, handle->error_text());
  }
  return CudaModel(std::move(module), std::move(handle));
}

/// The sizes that a run with these inputs chooses.
static Result<Bindings> sizes_for(const Program& program, const std::vector<Tensor>& inputs) {
  if (inputs.size() != program.inputs.size())
    return error(Code::input, "{} inputs for {}", inputs.size(), program.inputs.size());
  if (program.dims.empty()) return Bindings{};
  std::vector<std::vector<int64_t>> shapes;
  for (const Tensor& t : inputs) shapes.push_back(t.shape());
  return sizes_of(program, shapes);
}

Result<NativeResult> CudaModel::run(const std::vector<Tensor>& inputs) const {
  QC_ASSIGN(const Bindings sizes, sizes_for(program(), inputs));
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
  if (!program().states.empty())
    QC_TRY((handle_->call<void*>("_reset", {}, nullptr)));  // every run is the first
  const auto begin = std::chrono::steady_clock::now();
  QC_TRY((handle_->call<const void* const*, void* const*>("_run_host", dims_of(program(), sizes),
                                                          in.data(), out.data())));
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  result.seconds = spent.count();
  return result;
}

Result<CudaFigures> CudaModel::figures(const std::vector<Tensor>& inputs) const {
  Analysis found{};
  QC_ASSIGN(const Bindings sizes, sizes_for(program(), inputs));
  QC_TRY(handle_->call<Analysis*>("_analyze", dims_of(program(), sizes), &found));
  const bool plain = found.deployment == kConservative;
  return CudaFigures{found.launches, plain ? found.device_us : found.device_us_graph,
                     plain ? found.host_us : found.host_us_graph, 0};
}

Result<std::vector<StepTime>> CudaModel::layer_times(const std::vector<Tensor>& inputs) const {
  std::vector<KernelTime> times;
  QC_ASSIGN(const Bindings sizes, sizes_for(program(), inputs));
  QC_TRY((handle_->call<TellFunction, void*>("_profile", dims_of(program(), sizes), tell, &times)));
  for (const Module::TargetProgram& compiled : module_->programs) {
    std::vector<StepTime> found;
    match(bound(compiled.program, sizes).steps, times, found);
    if (found.size() == times.size()) return found;
  }
  return error(Code::bug, "model '{}' ran kernels that its program does not have", handle_->name);
}

}  // namespace qc
