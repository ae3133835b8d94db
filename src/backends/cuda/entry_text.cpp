// Prints NAME.cu: the kernels, and the functions a caller sees.
#include <fmt/format.h>

#include <algorithm>

#include "backends/cuda/source.h"
#include "backends/cuda/text.h"

namespace qc::cuda {
namespace {

std::string weights_text(const ProjectOptions& options, int64_t bytes) {
  if (bytes == 0) return "";
  const bool literal = options.weights == WeightForm::literal;
  return fmt::format("extern \"C\" const unsigned char {}_weights[{}]{};\n\n", options.name,
                     literal ? (bytes + 2047) / 2048 : bytes, literal ? "[2048]" : "");
}

/// The handle, and how a failed call of the runtime is reported.
std::string handle_text(const ProjectOptions& options) {
  return fmt::format(
      "struct {0}_handle {{\n  qk_queue queue;\n  qk_deployment deployment;\n  int device;\n"
      "  unsigned char *arena, *weights;         /* on the device */\n"
      "  unsigned char *own_arena, *own_weights; /* to be given back */\n"
      "  char reason[128], error[512];\n}};\n\n"
      "/* Leaves a function when a call of the runtime fails. */\n"
      "#define QC_TRY(status, call, kernel, layer) \\\n  do {{ \\\n"
      "    const cudaError_t qc_status = (status); \\\n"
      "    if (qc_status != cudaSuccess) {{ \\\n"
      "      qk_describe(h->error, sizeof h->error, qc_status, call, kernel, layer); \\\n"
      "      return {1}_CUDA_FAILED; \\\n    }} \\\n  }} while (0)\n\n",
      options.name, c_upper(options.name));
}

/// What launches the kernels, and what copies inputs and outputs.
std::string steps_text(const Program& program, const ProjectOptions& options, const Source& source,
                       bool weights) {
  std::string bases;
  if (program.arena_bytes > 0) bases += "  unsigned char *const arena = h->arena;\n";
  if (weights) bases += "  const unsigned char *const weights = h->weights;\n";
  const auto copies = [&](const char* name, const char* ports, const std::string& statements) {
    return fmt::format(
        "static int {0}_{1}({0}_handle *h, {2}, cudaMemcpyKind kind, cudaStream_t stream) {{\n"
        "{3}{4}  return {5}_OK;\n}}\n\n",
        options.name, name, ports, statements.empty() ? "  (void)kind;\n  (void)stream;\n" : "",
        (program.arena_bytes > 0 ? "  unsigned char *const arena = h->arena;\n" : "") + statements,
        c_upper(options.name));
  };
  return fmt::format(
             "static int {0}_kernels(void *handle, const qk_queue *queue) {{\n"
             "  {0}_handle *const h = ({0}_handle *)handle;\n  (void)queue;\n{1}{2}"
             "  return {3}_OK;\n}}\n\n",
             options.name, bases, source.body, c_upper(options.name)) +
         copies("upload", "const void *const inputs[]", source.uploads) +
         copies("download", "void *const outputs[]", source.downloads);
}

std::string create_text(const Program& program, const ProjectOptions& options,
                        int64_t weight_bytes) {
  const std::string upper = c_upper(options.name);
  std::string body;
  const auto allocate = [&](const char* what, int64_t bytes) {
    body += fmt::format(
        "  if (h->{0} == NULL) {{\n"
        "    QC_TRY(cudaMalloc(&h->own_{0}, {1}), \"cudaMalloc of the {0}\", \"\", \"\");\n"
        "    h->{0} = h->own_{0};\n  }}\n",
        what, bytes);
  };
  if (weight_bytes > 0) {
    allocate("weights", weight_bytes);
    body += fmt::format(
        "  QC_TRY(cudaMemcpyAsync(h->weights, {}_weights, {}, cudaMemcpyHostToDevice,\n"
        "                         h->queue.stream), \"cudaMemcpyAsync of the weights\", \"\", "
        "\"\");\n",
        options.name, weight_bytes);
  }
  if (program.arena_bytes > 0) allocate("arena", program.arena_bytes);
  return fmt::format(
      "static int {0}_open({0}_handle *h) {{\n"
      "  QC_TRY(cudaSetDevice(h->device), \"cudaSetDevice\", \"\", \"\");\n"
      "  QC_TRY(cudaStreamCreateWithFlags(&h->queue.stream, cudaStreamNonBlocking),\n"
      "         \"cudaStreamCreateWithFlags\", \"\", \"\");\n{1}"
      "  QC_TRY(cudaStreamSynchronize(h->queue.stream), \"cudaStreamSynchronize\", \"\", \"\");\n"
      "  if (h->deployment.strategy == QK_AGGRESSIVE) {{\n"
      "    QC_TRY(qk_can_overlap(h->device, &h->queue.overlap), \"cudaDeviceGetAttribute\", \"\", "
      "\"\");\n"
      "    return {0}_capture(h);\n  }}\n"
      "  if (h->deployment.strategy != QK_AUTO) return {2}_OK;\n"
      "  {0}_analysis figures;\n"
      "  return {0}_analyze(h, &figures);\n}}\n\n"
      "int {0}_create(const {0}_config *config, {0}_handle **handle) {{\n"
      "  if (handle == NULL) return {2}_NULL_POINTER;\n"
      "  {0}_handle *h = ({0}_handle *)calloc(1, sizeof *h);\n"
      "  *handle = h;\n"
      "  if (h == NULL) return {2}_NO_MEMORY;\n"
      "  if (config != NULL) {{\n    h->device = config->device;\n"
      "    h->queue.check = config->check;\n"
      "    h->deployment.strategy = config->deployment;\n"
      "    h->arena = (unsigned char *)config->arena;\n"
      "    h->weights = (unsigned char *)config->weights;\n  }}\n"
      "  if (h->deployment.strategy < QK_BALANCED || h->deployment.strategy > QK_AUTO) {{\n"
      "    snprintf(h->error, sizeof h->error, \"there is no deployment %d\", "
      "h->deployment.strategy);\n"
      "    return {2}_BAD_CONFIG;\n  }}\n"
      "  return {0}_open(h);\n}}\n\n"
      "void {0}_destroy({0}_handle *h) {{\n"
      "  if (h == NULL) return;\n"
      "  /* After a fault these calls fail too; there is nothing else to do. */\n"
      "  (void)cudaSetDevice(h->device);\n"
      "  qk_forget(&h->deployment);\n"
      "  if (h->own_weights != NULL) (void)cudaFree(h->own_weights);\n"
      "  if (h->own_arena != NULL) (void)cudaFree(h->own_arena);\n"
      "  if (h->queue.stream != NULL) (void)cudaStreamDestroy(h->queue.stream);\n"
      "  free(h);\n}}\n\n"
      "const char *{0}_error_text(const {0}_handle *h) {{\n"
      "  return h == NULL ? \"there is no handle\" : h->error;\n}}\n\n",
      options.name, body, upper);
}

/// The graph, and what is measured to choose between it and plain launches.
std::string deploy_text(const ProjectOptions& options, int64_t weight_bytes, int64_t arena_bytes,
                        int64_t launches) {
  return fmt::format(
      "static int {0}_capture({0}_handle *h) {{\n"
      "  const char *call = \"\";\n  int code = {1}_OK;\n"
      "  const cudaError_t status = qk_capture(&h->deployment, &h->queue, h, {0}_kernels, &code, "
      "&call);\n"
      "  QC_TRY(status, call, \"\", \"\");\n  return code;\n}}\n\n"
      "int {0}_analyze({0}_handle *h, {0}_analysis *figures) {{\n"
      "  if (h == NULL || figures == NULL) return {1}_NULL_POINTER;\n"
      "  enum {{ RUNS = 20 }};\n"
      "  int code = {1}_OK;\n  qk_times plain, graph;\n  qk_deployment none = {{0, 0, NULL}};\n"
      "  QC_TRY(cudaSetDevice(h->device), \"cudaSetDevice\", \"\", \"\");\n"
      "  if (!h->deployment.ready) code = {0}_capture(h);\n"
      "  if (code != {1}_OK) return code;\n"
      "  QC_TRY(qk_measure(&none, &h->queue, h, {0}_kernels, RUNS, &plain, &code), \"timing\", "
      "\"\", \"\");\n"
      "  if (code != {1}_OK) return code;\n"
      "  QC_TRY(qk_measure(&h->deployment, &h->queue, h, {0}_kernels, RUNS, &graph, &code), "
      "\"timing\", \"\", \"\");\n"
      "  if (code != {1}_OK) return code;\n"
      "  const int better = graph.device < plain.device || graph.host < plain.host;\n"
      "  if (h->deployment.strategy == QK_AUTO) h->deployment.strategy = better ? QK_BALANCED : "
      "QK_CONSERVATIVE;\n"
      "  snprintf(h->reason, sizeof h->reason, \"a graph takes %.1f us on the device and %.1f on "
      "the "
      "host, launches %.1f and %.1f\",\n"
      "           graph.device, graph.host, plain.device, plain.host);\n"
      "  figures->launches = {2};\n"
      "  figures->host_us_per_launch = {2} > 0 ? plain.host / {2} : 0;\n"
      "  figures->device_us = plain.device;\n  figures->device_us_graph = graph.device;\n"
      "  figures->host_us = plain.host;\n  figures->host_us_graph = graph.host;\n"
      "  figures->weight_bytes = {3};\n  figures->arena_bytes = {4};\n"
      "  figures->deployment = h->deployment.strategy;\n  figures->reason = h->reason;\n"
      "  return {1}_OK;\n}}\n\n",
      options.name, c_upper(options.name), launches, weight_bytes, arena_bytes);
}

std::string run_text(const Program& program, const ProjectOptions& options) {
  const std::string upper = c_upper(options.name);
  std::string null = "inputs == NULL || outputs == NULL";
  for (size_t i = 0; i < program.inputs.size(); ++i)
    null += fmt::format(" || inputs[{}] == NULL", i);
  for (size_t i = 0; i < program.outputs.size(); ++i)
    null += fmt::format(" || outputs[{}] == NULL", i);
  return fmt::format(
      "/* All kernels, by a graph where that is wanted and the caller is not making one itself. "
      "*/\n"
      "static int {0}_compute({0}_handle *h, cudaStream_t stream) {{\n"
      "  qk_queue queue = h->queue;\n  int capturing = 0, code = {1}_OK;\n"
      "  queue.stream = stream;\n"
      "  QC_TRY(qk_is_capturing(stream, &capturing), \"cudaStreamIsCapturing\", \"\", \"\");\n"
      "  if (h->deployment.strategy == QK_CONSERVATIVE || queue.check || capturing)\n"
      "    return {0}_kernels(h, &queue);\n"
      "  if (!h->deployment.ready) code = {0}_capture(h);\n"
      "  if (code != {1}_OK) return code;\n"
      "  QC_TRY(qk_run_graph(&h->deployment, &queue, h, {0}_kernels, &code), \"cudaGraphLaunch\", "
      "\"\", \"\");\n"
      "  return code;\n}}\n\n"
      "static int {0}_steps({0}_handle *h, const void *const inputs[], void *const outputs[], int "
      "host,\n                   cudaStream_t stream) {{\n"
      "  QC_TRY(cudaSetDevice(h->device), \"cudaSetDevice\", \"\", \"\");\n"
      "  int code = {0}_upload(h, inputs, host ? cudaMemcpyHostToDevice : "
      "cudaMemcpyDeviceToDevice, "
      "stream);\n"
      "  if (code == {1}_OK) code = {0}_compute(h, stream);\n"
      "  if (code == {1}_OK)\n"
      "    code = {0}_download(h, outputs, host ? cudaMemcpyDeviceToHost : "
      "cudaMemcpyDeviceToDevice, stream);\n"
      "  if (code == {1}_OK && host)\n"
      "    QC_TRY(cudaStreamSynchronize(stream), \"cudaStreamSynchronize\", \"\", \"\");\n"
      "  return code;\n}}\n\n"
      "static int {0}_has_null({0}_handle *h, const void *const inputs[], void *const outputs[]) "
      "{{\n  if (!({2})) return 0;\n"
      "  snprintf(h->error, sizeof h->error, \"an input or output is null\");\n  return 1;\n}}\n\n"
      "int {0}_run({0}_handle *h, const void *const inputs[], void *const outputs[], void *stream) "
      "{{\n"
      "  if (h == NULL || {0}_has_null(h, inputs, outputs)) return {1}_NULL_POINTER;\n"
      "  return {0}_steps(h, inputs, outputs, 0, (cudaStream_t)stream);\n}}\n\n"
      "int {0}_run_host({0}_handle *h, const void *const inputs[], void *const outputs[]) {{\n"
      "  if (h == NULL || {0}_has_null(h, inputs, outputs)) return {1}_NULL_POINTER;\n"
      "  const int code = {0}_steps(h, inputs, outputs, 1, h->queue.stream);\n"
      "  /* Nothing touches the caller's memory later. */\n"
      "  if (code != {1}_OK) (void)cudaStreamSynchronize(h->queue.stream);\n"
      "  return code;\n}}\n",
      options.name, upper, null);
}

}  // namespace

int64_t launches(const Program& program) {
  return std::ranges::count_if(program.steps, [](const Step& s) { return s.call() != nullptr; });
}

std::string source_text(const Program& program, const ProjectOptions& options,
                        const WeightMap& weights) {
  Source source(options, weights, program);
  source.print();
  return fmt::format(
             "/* {0}: generated by quantc. CUDA C++; with -DQK_CUDA_ON_HOST plain C++ without "
             "CUDA,\n * whose threads run one after another. */\n"
             "#if defined(__GNUC__) /* members that are 0 are left out */\n"
             "#pragma GCC diagnostic ignored \"-Wmissing-field-initializers\"\n#endif\n"
             "#include \"{0}.h\"\n\n#include \"{0}_kernels.h\"\n\n",
             options.name) +
         weights_text(options, weights.bytes) + source.instances + handle_text(options) +
         steps_text(program, options, source, weights.bytes > 0) +
         deploy_text(options, weights.bytes, program.arena_bytes, launches(program)) +
         create_text(program, options, weights.bytes) + run_text(program, options);
}

}  // namespace qc::cuda
