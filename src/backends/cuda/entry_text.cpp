// Prints NAME.cu: the kernels of each part, what describes the model, the functions a caller sees.
// What these do stands in runtime/cuda/session.h.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "backends/cuda/source.h"
#include "backends/cuda/text.h"

namespace qc::cuda {
namespace {

std::string weights_text(const Project& project) {
  const ProjectOptions& options = project.options;
  const int64_t bytes = project.weights.bytes;
  if (bytes == 0 || options.weights == WeightForm::file) return "";
  const bool literal = options.weights == WeightForm::literal;
  return fmt::format("extern \"C\" const unsigned char {}_weights[{}]{};\n\n", options.name,
                     literal ? (bytes + 2047) / 2048 : bytes, literal ? "[2048]" : "");
}

/// Bytes of the host's memory that steps there take: their buffers' places are those of the arena.
int64_t host_bytes(const Program& program) {
  int64_t out = 0;
  for (const Buffer& b : program.buffers) {
    if (b.space == Space::host && b.kind == BufferKind::arena && b.alias_of < 0)
      out = std::max(out, program.largest(b.offset + b.bytes));
  }
  return out;
}

/// Where in the device's weights the state's initial contents lie, and where in the state.
std::vector<WeightRange> initial_ranges(const Program& program, const WeightMap& device) {
  std::vector<WeightRange> out;
  for (const Port& port : program.states) {
    const Buffer& b = program.buffer(port.buffer);
    out.push_back(
        {device.offsets.at(b.constant), b.offset.value(), program.pool->byte_size(b.constant)});
  }
  return out;
}

/// As the elements of an array; one that is empty where there are none.
std::string extents_text(const std::vector<WeightRange>& ranges) {
  std::string out;
  for (const WeightRange& r : ranges)
    out += fmt::format("{}{{{}, {}, {}}}", out.empty() ? "" : ", ", r.from, r.to, r.bytes);
  return out.empty() ? "{0, 0, 0}" : out;
}

/// Launches of the kernels, copies of inputs and outputs, and where weights lie, in a namespace.
std::string part_text(const Project& project, size_t index) {
  const Module::Part& part = project.module.parts[index];
  const Program& program = part.program;
  const WeightMap device = map_device_weights(program);
  const bool several = project.module.parts.size() > 1;
  Source source(project.options, project.weights, device, program,
                several ? capability(part.target) : 0);
  source.print();
  std::string sizes, table;
  if (source.sizes.entries() > 0) {
    sizes = source.sizes.definition("sizes_of");
    table = fmt::format("  int64_t n[{}];\n  sizes_of(s->dims, n);\n", source.sizes.entries());
  }
  const std::string bases =
      "  unsigned char *const arena = s->arena;\n  const unsigned char *const weights = "
      "s->weights;\n  unsigned char *const host_arena = s->host_arena;\n"
      "  unsigned char *const state = s->state;\n"
      "  (void)arena;\n  (void)weights;\n  (void)host_arena;\n  (void)state;\n" +
      table;
  const auto copies = [&](const char* name, const std::string& statements) {
    return fmt::format(
        "static int {}(qk_session *s, const void *const *inputs, void *const *outputs,\n"
        "    cudaMemcpyKind kind, cudaStream_t stream) {{\n"
        "  (void)inputs;\n  (void)outputs;\n  (void)kind;\n  (void)stream;\n{}{}  return "
        "QK_OK;\n}}\n",
        name, bases, statements);
  };
  const std::string ranges = extents_text(ranges_between(project.weights, device));
  const std::string initial = extents_text(initial_ranges(program, device));
  return fmt::format("namespace part_{} {{ /* {} */\n\n", index, part.target.name) +
         source.instances + sizes +
         fmt::format(
             "static int kernels(void *handle, const qk_queue *queue) {{\n"
             "  qk_session *const s = (qk_session *)handle;\n  (void)queue;\n{}{}  return "
             "QK_OK;\n}}\n",
             bases, source.body) +
         copies("upload", source.uploads) + copies("download", source.downloads) +
         fmt::format(
             "static const qk_extent ranges[] = {{{}}};\nstatic const qk_extent initial[] = "
             "{{{}}};\n\n}}  // namespace part_{}\n\n",
             ranges, initial, index);
}

/// Sizes that graphs are made for before the first run: all combinations of buckets, else the
/// largest, which is the last.
std::string warm_sizes(const Project& project, size_t& count) {
  std::vector<std::vector<int64_t>> rows{{}};
  for (const FreeDim& d : project.module.program().dims) {
    const auto own = project.options.buckets.find(d.name);
    std::vector<std::vector<int64_t>> longer;
    for (const std::vector<int64_t>& row : rows) {
      for (const int64_t size :
           own == project.options.buckets.end() ? std::vector<int64_t>{d.max} : own->second) {
        longer.push_back(row);
        longer.back().push_back(size);
      }
    }
    rows = std::move(longer);
  }
  count = rows.size();
  std::string out;
  for (const std::vector<int64_t>& row : rows)
    out += fmt::format("{}{}", out.empty() ? "" : ", ", fmt::join(row, ", "));
  return out.empty() ? "0" : out;
}

/// The tables that describe the model.
std::string model_text(const Project& project) {
  const std::string& name = project.options.name;
  const Program& program = project.module.program();
  std::string parts;
  for (size_t i = 0; i < project.module.parts.size(); ++i) {
    const Module::Part& part = project.module.parts[i];
    const WeightMap device = map_device_weights(part.program);
    parts += fmt::format(
        "    {{{1}, {9}, {2}, {3}, {4}, {5}, {6}, part_{0}::ranges, part_{0}::initial, {7}, {8},\n"
        "     part_{0}::kernels, part_{0}::upload, part_{0}::download}},\n",
        i, capability(part.target), part.program.arena_bytes, device.bytes,
        host_bytes(part.program), part.program.state_bytes, launches(part.program.steps),
        ranges_between(project.weights, device).size(), part.program.states.size(),
        part.target.only ? 1 : 0);
  }
  size_t warm = 0;
  const std::string sizes = warm_sizes(project, warm);
  const bool own = project.weights.bytes > 0 && project.options.weights != WeightForm::file;
  return fmt::format(
      "static const qk_part {0}_parts[] = {{\n{1}}};\n"
      "static const int64_t {0}_warm[] = {{{2}}};\n"
      "static const qk_model {0}_model = {{{0}_parts, {3}, {4}, {5}, {6}, {7}, {0}_warm, {8}, {9}, "
      "{10},\n    UINT64_C(0x{11:016x})}};\n\n",
      name, parts, sizes, project.module.parts.size(), program.inputs.size(),
      program.outputs.size(), program.dims.size(),
      program.dims.empty() ? "NULL" : name + "_size_error", warm, own ? name + "_weights" : "NULL",
      project.weights.bytes, project.weight_hash);
}

/// The handle and the functions a caller sees.
std::string functions_text(const Project& project) {
  const size_t dims = project.module.program().dims.size();
  const bool state = project.module.program().state_bytes > 0;
  return fmt::format(
      "struct {0}_handle {{\n  qk_session session;\n  int64_t dims[{1}];\n}};\n\n"
      "int {0}_create(const {0}_config *config, {0}_handle **handle) {{\n"
      "  if (handle == NULL) return QK_NULL_POINTER;\n"
      "  {0}_handle *const h = ({0}_handle *)calloc(1, sizeof *h);\n"
      "  *handle = h;\n  if (h == NULL) return QK_NO_MEMORY;\n"
      "  h->session.dims = h->dims;\n"
      "  if (config == NULL) return qk_create(&h->session, &{0}_model, NULL);\n"
      "  const qk_config given = {{config->device, config->check, config->deployment, "
      "config->arena,\n      config->weights, config->cache_entries, config->cache_bytes, "
      "config->host_weights, {4}}};\n"
      "  return qk_create(&h->session, &{0}_model, &given);\n}}\n\n"
      "void {0}_destroy({0}_handle *h) {{\n  if (h == NULL) return;\n"
      "  qk_destroy(&h->session);\n  free(h);\n}}\n\n"
      "const char *{0}_error_text(const {0}_handle *h) {{\n"
      "  return h == NULL ? \"there is no handle\" : h->session.error;\n}}\n\n"
      "int {0}_run({0}_handle *h, {2}const void *const inputs[], void *const outputs[], void "
      "*stream) {{\n"
      "  if (h == NULL) return QK_NULL_POINTER;\n"
      "  return qk_run(&h->session, {3}, inputs, outputs, 0, (cudaStream_t)stream);\n}}\n\n"
      "int {0}_run_host({0}_handle *h, {2}const void *const inputs[], void *const outputs[]) {{\n"
      "  if (h == NULL) return QK_NULL_POINTER;\n"
      "  return qk_run_host(&h->session, {3}, inputs, outputs);\n}}\n\n"
      "int {0}_analyze({0}_handle *h, {2}{0}_analysis *figures) {{\n"
      "  if (h == NULL || figures == NULL) return QK_NULL_POINTER;\n  qk_analysis own;\n"
      "  const int code = qk_analyze(&h->session, {3}, &own);\n"
      "  if (code != QK_OK) return code;\n"
      "  const {0}_analysis out = {{own.launches, own.host_us_per_launch, own.device_us, "
      "own.device_us_graph,\n      own.host_us, own.host_us_graph, own.weight_bytes, "
      "own.arena_bytes, own.deployment, own.reason}};\n"
      "  *figures = out;\n  return QK_OK;\n}}\n\n"
      "int {0}_profile({0}_handle *h, {2}void (*told)(void *data, const char *layer, const char "
      "*kernel,\n    double device_us), void *data) {{\n"
      "  if (h == NULL) return QK_NULL_POINTER;\n"
      "  return qk_profile_run(&h->session, {3}, told, data);\n}}\n\n"
      "int {0}_graph_stats(const {0}_handle *h, {0}_cache_stats *stats) {{\n"
      "  if (h == NULL || stats == NULL) return QK_NULL_POINTER;\n"
      "  const qk_cache_stats own = qk_cache_figures(&h->session.cache);\n"
      "  const {0}_cache_stats out = {{own.hits, own.misses, own.evictions, own.count, own.bytes, "
      "own.hit_rate}};\n"
      "  *stats = out;\n  return QK_OK;\n}}\n",
      project.options.name, std::max<size_t>(dims, 1), dims ? "const int64_t *dims, " : "",
      dims ? "dims" : "NULL", state ? "config->state" : "NULL");
}

std::string reset_text(const Project& project) {
  if (project.module.program().state_bytes == 0) return "";
  return fmt::format(
      "\nint {0}_reset({0}_handle *h, void *stream) {{\n"
      "  if (h == NULL) return QK_NULL_POINTER;\n"
      "  return qk_reset(&h->session, (cudaStream_t)stream);\n}}\n",
      project.options.name);
}

/// Whether the weights a caller brings are the model's.
std::string check_weights_text(const Project& project) {
  if (project.options.weights != WeightForm::file) return "";
  return "\n" + weight_check_text(project.options);
}

}  // namespace

int64_t launches(const Steps& steps) {
  int64_t out = 0;
  for (const Step& s : steps) {
    if (s.call()) ++out;
    if (const BranchStep* branch = s.branch())
      out += std::max(launches(branch->body), launches(branch->otherwise));
  }
  return out;
}

int capability(const Target& target) {
  return target.architecture.empty() ? 0 : std::stoi(target.architecture.substr(3));
}

int64_t device_weight_bytes(const Module& module) {
  int64_t out = 0;
  for (const Module::Part& part : module.parts)
    out = std::max(out, map_device_weights(part.program).bytes);
  return out;
}

std::string source_text(const Project& project) {
  const Program& program = project.module.program();
  std::string out = fmt::format(
      "/* {0}: generated by quantc. CUDA C++; with -DQK_CUDA_ON_HOST plain C++ without "
      "CUDA,\n * whose threads run one after another. */\n"
      "#if defined(__GNUC__) /* members that are 0 are left out */\n"
      "#pragma GCC diagnostic ignored \"-Wmissing-field-initializers\"\n#endif\n"
      "#include \"{0}.h\"\n\n#include \"{0}_kernels.h\"\n\n",
      project.options.name);
  out += weights_text(project);
  if (!program.dims.empty())
    out += std::string(size_functions()) + size_error_text(program, project.options);
  for (size_t i = 0; i < project.module.parts.size(); ++i) out += part_text(project, i);
  return out + model_text(project) + functions_text(project) + reset_text(project) +
         check_weights_text(project);
}

}  // namespace qc::cuda
