// Prints NAME.cu: the kernels, and the functions a caller sees.
#include <fmt/format.h>

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
      "struct {0}_handle {{\n  qk_queue queue;\n  int device;\n  unsigned char *arena;\n"
      "  unsigned char *weights;\n  char error[512];\n}};\n\n"
      "/* Leaves a function when a call of the runtime fails. */\n"
      "#define QC_TRY(status, call, kernel, layer) \\\n  do {{ \\\n"
      "    const cudaError_t qc_status = (status); \\\n"
      "    if (qc_status != cudaSuccess) {{ \\\n"
      "      qk_describe(h->error, sizeof h->error, qc_status, call, kernel, layer); \\\n"
      "      return {1}_CUDA_FAILED; \\\n    }} \\\n  }} while (0)\n\n",
      options.name, c_upper(options.name));
}

std::string create_text(const Program& program, const ProjectOptions& options,
                        int64_t weight_bytes) {
  const std::string upper = c_upper(options.name);
  std::string body;
  const auto allocate = [&](const char* what, int64_t bytes) {
    body +=
        fmt::format("  QC_TRY(cudaMalloc(&h->{0}, {1}), \"cudaMalloc of the {0}\", \"\", \"\");\n",
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
      "  return {2}_OK;\n}}\n\n"
      "int {0}_create(const {0}_config *config, {0}_handle **handle) {{\n"
      "  if (handle == NULL) return {2}_NULL_POINTER;\n"
      "  {0}_handle *h = ({0}_handle *)calloc(1, sizeof *h);\n"
      "  *handle = h;\n"
      "  if (h == NULL) return {2}_NO_MEMORY;\n"
      "  if (config != NULL) {{\n    h->device = config->device;\n"
      "    h->queue.check = config->check;\n  }}\n"
      "  return {0}_open(h);\n}}\n\n"
      "void {0}_destroy({0}_handle *h) {{\n"
      "  if (h == NULL) return;\n"
      "  /* After a fault these calls fail too; there is nothing else to do. */\n"
      "  (void)cudaSetDevice(h->device);\n"
      "  if (h->weights != NULL) (void)cudaFree(h->weights);\n"
      "  if (h->arena != NULL) (void)cudaFree(h->arena);\n"
      "  if (h->queue.stream != NULL) (void)cudaStreamDestroy(h->queue.stream);\n"
      "  free(h);\n}}\n\n"
      "const char *{0}_error_text(const {0}_handle *h) {{\n"
      "  return h == NULL ? \"there is no handle\" : h->error;\n}}\n\n",
      options.name, body, upper);
}

std::string run_text(const Program& program, const ProjectOptions& options,
                     const std::string& steps, bool weights) {
  const std::string upper = c_upper(options.name);
  std::string null = "inputs == NULL || outputs == NULL";
  for (size_t i = 0; i < program.inputs.size(); ++i)
    null += fmt::format(" || inputs[{}] == NULL", i);
  for (size_t i = 0; i < program.outputs.size(); ++i)
    null += fmt::format(" || outputs[{}] == NULL", i);
  std::string bases;
  if (program.arena_bytes > 0) bases += "  unsigned char *const arena = h->arena;\n";
  if (weights) bases += "  const unsigned char *const weights = h->weights;\n";
  return fmt::format(
      "static int {0}_steps({0}_handle *h, const void *const inputs[], void *const outputs[]) {{\n"
      "{3}"
      "  QC_TRY(cudaSetDevice(h->device), \"cudaSetDevice\", \"\", \"\");\n"
      "{4}"
      "  QC_TRY(cudaStreamSynchronize(h->queue.stream), \"cudaStreamSynchronize\", \"\", \"\");\n"
      "  return {1}_OK;\n}}\n\n"
      "int {0}_run_host({0}_handle *h, const void *const inputs[], void *const outputs[]) {{\n"
      "  if (h == NULL) return {1}_NULL_POINTER;\n"
      "  if ({2}) {{\n"
      "    snprintf(h->error, sizeof h->error, \"an input or output is null\");\n"
      "    return {1}_NULL_POINTER;\n  }}\n"
      "  const int code = {0}_steps(h, inputs, outputs);\n"
      "  /* Nothing touches the caller's memory later. */\n"
      "  if (code != {1}_OK) (void)cudaStreamSynchronize(h->queue.stream);\n"
      "  return code;\n}}\n",
      options.name, upper, null, bases, steps);
}

}  // namespace

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
         create_text(program, options, weights.bytes) +
         run_text(program, options, source.body, weights.bytes > 0);
}

}  // namespace qc::cuda
