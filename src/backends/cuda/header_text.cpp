#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/common/run_codes.h"
#include "backends/cuda/text.h"
#include "program/device.h"

namespace qc::cuda {
namespace {

/// What is worth knowing before the code is used.
std::string notes_text(const Project& project) {
  const std::vector<std::string> host = host_steps(project.module.program());
  if (host.empty()) return "";
  std::string out =
      "/* Steps that run on the host, as --allow-host does; the stream waits for them:\n";
  for (const std::string& line : host) out += " * " + c_comment(line) + "\n";
  return out + " */\n\n";
}

std::string sizes_text(const Project& project) {
  const ProjectReport& report = project.report;
  return fmt::format(
      "/* Bytes of the device's memory that a handle takes: what lives between kernels, and "
      "weights.\n * Of all that a run keeps there, {6} bytes are live together at most. */\n"
      "#define {0}_DEVICE_ARENA_BYTES {1}\n#define {0}_DEVICE_WEIGHT_BYTES {2}\n"
      "{8}#define {0}_WEIGHT_BYTES {3}\n#define {0}_WEIGHT_HASH UINT64_C(0x{4:016x})\n"
      "/* Multiply-accumulates and launches of one run. */\n"
      "#define {0}_MACS INT64_C({5})\n#define {0}_LAUNCHES {7}\n\n",
      c_upper(project.options.name), report.arena_bytes, device_weight_bytes(project.module),
      report.weight_bytes, project.weight_hash, report.macs, report.spaces.back().live_bytes,
      launches(project.module.program().steps),
      report.state_bytes > 0
          ? fmt::format("#define {}_DEVICE_STATE_BYTES {} /* kept between runs */\n",
                        c_upper(project.options.name), report.state_bytes)
          : "");
}

std::vector<RunCode> codes_of(const Project& project) {
  const Program& program = project.module.program();
  const std::string& name = project.options.name;
  std::vector<RunCode> out = {
      {RunError::null_pointer},
      {RunError::bad_size,
       program.dims.empty() ? "" : fmt::format(": {}_size_error says which", name)},
      {RunError::bad_config},
      {RunError::no_memory},
      {RunError::cuda_failed},
      {RunError::bad_device}};
  if (program.index_record >= 0)
    out.push_back({RunError::bad_index, fmt::format(": {}_error_text says which", name)});
  return out;
}

/// The codes, deployments and the configuration.
std::string config_text(const Project& project) {
  const ProjectOptions& options = project.options;
  return fmt::format(
      "\n/* What the functions return. */\n{2}\n"
      "/* How kernels reach the device. */\n"
      "#define {1}_BALANCED 0     /* as a CUDA graph, which the first run of a shape makes */\n"
      "#define {1}_CONSERVATIVE 1 /* one launch after another */\n"
      "#define {1}_AGGRESSIVE 2   /* graphs made by {0}_create, kernels set up early where the GPU "
      "can */\n"
      "#define {1}_AUTO 3         /* {0}_create measures, and takes what is faster */\n\n"
      "typedef struct {0}_config {{\n"
      "  int device;     /* which GPU */\n"
      "  int check;      /* wait for every kernel, so that a fault is reported with its name */\n"
      "  int deployment; /* one of the above */\n"
      "  /* Memory of the device for the handle to use, aligned to 256 bytes, of\n"
      "   * {1}_DEVICE_ARENA_BYTES and {1}_DEVICE_WEIGHT_BYTES; where null it takes its own. */\n"
      "  void *arena, *weights;\n"
      "  /* Graphs that are kept, those that were used last; 0: 16, and no limit of bytes. */\n"
      "  int64_t cache_entries, cache_bytes;\n"
      "  /* {1}_WEIGHT_BYTES in the host's memory: the contents of {0}_weights.bin where weights "
      "are "
      "a\n   * file, else null. {3} */\n"
      "  const void *host_weights;\n"
      "{4}}} {0}_config;\n"
      "typedef struct {0}_handle {0}_handle;\n\n",
      options.name, c_upper(options.name), run_codes_text(options, codes_of(project)),
      host_steps(project.module.program()).empty()
          ? fmt::format("They are read by {}_create alone.", options.name)
          : "Steps of the host read them in every run.",
      project.report.state_bytes > 0
          ? fmt::format("  void *state; /* {}_DEVICE_STATE_BYTES, as arena and weights */\n",
                        c_upper(options.name))
          : "");
}

/// The functions of runs; `dims` is a parameter where sizes are free.
std::string runs_text(const Project& project) {
  const bool free = !project.module.program().dims.empty();
  return fmt::format(
      "/* Takes the device's memory and uploads the weights; `config` may be null: all zeros.\n"
      " * Where it fails and *handle is not null, {0}_error_text(*handle) says why. The handle\n"
      " * is to be destroyed in either case. */\n"
      "int {0}_create(const {0}_config *config, {0}_handle **handle);\n"
      "/* One run with row-major inputs and outputs in the host's memory; returns when the "
      "outputs\n"
      " * are there. One run at a time for each handle. */\n"
      "int {0}_run_host({0}_handle *handle, {2}const void *const inputs[], void *const "
      "outputs[]);\n"
      "/* The same with inputs and outputs in the device's memory, on a stream of the caller's (a\n"
      " * cudaStream_t; null: the default one). It returns at once; pointers may change with every "
      "call,\n * and the stream may be one that a graph is captured from. A handle's runs must not "
      "overlap. */\n"
      "int {0}_run({0}_handle *handle, {2}const void *const inputs[], void *const outputs[], "
      "void *stream);\n{1}\n",
      project.options.name,
      free ? fmt::format("/* NULL where the model takes these sizes; else what is wrong, with the "
                         "dimension's name. */\n"
                         "const char *{}_size_error(const int64_t *dims);\n",
                         project.options.name)
           : "",
      free ? "const int64_t *dims, " : "");
}

/// What sets the state to its initial contents.
std::string reset_text(const Project& project) {
  if (project.report.state_bytes == 0) return "";
  return fmt::format(
      "/* Sets the state to its initial contents, as {0}_create did, on a stream of the caller's "
      "(null:\n * the default one); runs change it. */\n"
      "int {0}_reset({0}_handle *handle, void *stream);\n",
      project.options.name);
}

/// What says whether a run met an index that is out of range.
std::string check_text(const Project& project) {
  if (project.module.program().index_record < 0) return "";
  return fmt::format(
      "/* Waits for the stream and returns {1}_BAD_INDEX where its last run met an index that is "
      "out "
      "of\n"
      " * range: {0}_error_text names the layer and the index. {0}_run_host returns it itself. The "
      "outputs of\n"
      " * such a run say nothing, and a state is to be reset. */\n"
      "int {0}_check_indices({0}_handle *handle, void *stream);\n",
      project.options.name, c_upper(project.options.name));
}

/// What is measured.
std::string figures_text(const Project& project) {
  const bool free = !project.module.program().dims.empty();
  return fmt::format(
      "/* What deployments cost; times are those of one run without copies, measured. */\n"
      "typedef struct {0}_analysis {{\n"
      "  int launches;\n  double host_us_per_launch;\n"
      "  double device_us, device_us_graph, host_us, host_us_graph;\n"
      "  int64_t weight_bytes, arena_bytes;\n"
      "  int deployment;     /* what the handle uses */\n"
      "  const char *reason; /* the figures in words; lives as long as the handle */\n"
      "}} {0}_analysis;\n"
      "/* Runs the kernels on whatever is in the arena, and waits for them. What is kept between "
      "runs is\n * afterwards what it was. */\n"
      "int {0}_analyze({0}_handle *handle, {1}{0}_analysis *figures);\n\n"
      "/* Calls `callback` for each kernel of a run, in order: its layer and name, and the "
      "device's "
      "time, "
      "the\n * least of a few runs of one kernel after another on whatever is in the arena. */\n"
      "int {0}_profile({0}_handle *handle, {1}void (*callback)(void *data, const char *layer, "
      "const "
      "char "
      "*kernel,\n    double device_us), void *data);\n\n"
      "/* How the cache of graphs fared; bytes are estimated. */\n"
      "typedef struct {0}_cache_stats {{\n"
      "  uint64_t hits, misses, evictions, count, bytes;\n"
      "  double hit_rate; /* hits per lookup; 0 before the first */\n"
      "}} {0}_cache_stats;\n"
      "int {0}_graph_stats(const {0}_handle *handle, {0}_cache_stats *stats);\n\n"
      "/* Gives everything back, after a fault too; null is allowed. */\n"
      "void {0}_destroy({0}_handle *handle);\n"
      "/* What failed last: call, kernel and layer. It lives as long as the handle. */\n"
      "const char *{0}_error_text(const {0}_handle *handle);\n{2}",
      project.options.name, free ? "const int64_t *dims, " : "",
      project.options.weights == WeightStorage::file
          ? fmt::format("/* Whether the bytes are the weights this code was generated with. */\n"
                        "int {}_check_weights(const void *weights);\n",
                        project.options.name)
          : "");
}

}  // namespace

std::string header_text(const Project& project) {
  const std::string& name = project.options.name;
  const Program& program = project.module.program();
  return fmt::format(
             "/* {0}: generated by quantc for NVIDIA GPUs. The functions may be called from C. */\n"
             "#ifndef QUANTC_{1}_H\n#define QUANTC_{1}_H\n\n#include <stddef.h>\n"
             "#include <stdint.h>\n\n"
             "#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n",
             name, c_upper(name)) +
         sizes_text(project) + choices_text(program, project.options) + notes_text(project) +
         dims_text(program, project.options) + ports_text(program, project.options) +
         config_text(project) + runs_text(project) + reset_text(project) + check_text(project) +
         figures_text(project) + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
}

}  // namespace qc::cuda
