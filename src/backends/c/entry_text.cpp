// Prints the functions a caller sees: checks of what it passes, the call, the wrappers.
#include <fmt/format.h>

#include <algorithm>

#include "backends/c/source.h"
#include "backends/c/text.h"

namespace qc {
namespace {

std::string reset_text(const Program& program, const COptions& options, const WeightMap& weights) {
  const bool file = options.weights == WeightForm::file;
  std::string out = fmt::format("void {}_reset(void *state{}) {{\n", options.name,
                                file ? ", const void *weights" : "");
  for (const Port& port : program.states) {
    const Buffer& b = program.buffers[static_cast<size_t>(port.buffer)];
    out += fmt::format(
        "  memcpy((unsigned char *)state + {}, {} + {}, {});\n", b.offset.value(),
        file ? "(const unsigned char *)weights"
             : fmt::format("(const unsigned char *)(const void *){}_weights", options.name),
        weights.offsets.at(b.constant), b.size());
  }
  return out + "}\n";
}

/// Whether the sizes in `dims` are some that the model does not take.
std::string bad_sizes(const Program& program) {
  const SizeTable sizes(program);
  std::string out;
  const auto refuse = [&](const std::string& when) {
    out += (out.empty() ? "" : " ||\n      ") + when;
  };
  for (size_t i = 0; i < program.dims.size(); ++i) {
    const FreeDim& d = program.dims[i];
    refuse(fmt::format("dims[{0}] < {1} || dims[{0}] > {2}", i, d.min, d.max));
    if (d.step > 1) refuse(fmt::format("(dims[{}] - {}) % {} != 0", i, d.min, d.step));
  }
  for (const DimGuard& g : program.guards) {
    refuse(fmt::format("!({} {} {})", sizes.expression(g.left), g.relation(),
                       sizes.expression(g.right)));
  }
  return out;
}

/// Statements that raise `bytes` to what a run of the program reaches of the arena.
std::string reach_text(const Program& program) {
  const SizeTable sizes(program);
  // Of ends that differ by a number the last one counts.
  std::vector<std::pair<Dim, int64_t>> ends;
  for (const Buffer& b : program.buffers) {
    if (b.kind != BufferKind::arena || b.alias_of >= 0 || b.bytes == 0) continue;
    const Dim end = b.offset + b.bytes;
    const auto at = std::find_if(ends.begin(), ends.end(),
                                 [&](const auto& e) { return (e.first - end).is_static(); });
    if (at == ends.end()) {
      ends.emplace_back(end, 0);
    } else {
      at->second = std::max(at->second, (end - at->first).value());
    }
  }
  std::string out = "  {\n";
  if (!program.places.empty()) out += fmt::format("    int64_t n[{}];\n", program.places.size());
  for (size_t i = 0; i < program.places.size(); ++i)
    out += fmt::format("    n[{}] = {};\n", i, sizes.expression(program.places[i].value));
  for (const auto& [end, more] : ends)
    out += fmt::format("    bytes = qc_max(bytes, {});\n", sizes.expression(end + Dim(more)));
  return out + "  }\n";
}

/// How many bytes of the arena runs with given sizes take.
std::string arena_text(const Module& module, const COptions& options) {
  std::string body;
  for (const Module::Part& part : module.parts) body += reach_text(part.program);
  return fmt::format(
      "size_t {}_arena_bytes(const int64_t *dims) {{\n  int64_t bytes = 1;\n"
      "  if (dims == NULL ||\n      {}) return 0;\n{}  return (size_t)bytes;\n}}\n\n",
      options.name, bad_sizes(module.program()), body);
}

/// Whether the processor has the instructions of a target; empty where all have.
std::string processor_has(const Target& target) {
  std::string all;
  for (const std::string& feature : target.required)
    all += fmt::format("{}__builtin_cpu_supports(\"{}\")", all.empty() ? "" : " && ", feature);
  return all;
}

/// Split steps find the caller's threads among the arguments.
std::string run_parameters(const COptions& options) {
  return "const int64_t *dims, const void *const *inputs, void *const *outputs,\n"
         "    unsigned char *arena, unsigned char *state, const unsigned char *weights" +
         (options.threads ? fmt::format(", const {}_args *args", options.name) : "");
}
std::string run_arguments(const COptions& options) {
  return std::string("dims, inputs, outputs, arena, state, weights") +
         (options.threads ? ", args" : "");
}
std::string unused(const COptions& options) {
  return std::string(
             "  (void)dims;\n  (void)inputs;\n  (void)outputs;\n  (void)arena;\n  (void)state;\n"
             "  (void)weights;\n") +
         (options.threads ? "  (void)args;\n" : "");
}

/// The steps as a function of their own, `head` being its beginning.
std::string steps_text(const Source& source, const COptions& options, const std::string& head) {
  std::string out;
  if (source.sizes.entries() > 0) {
    out = source.sizes.definition(options.name + "_sizes");
    return out + fmt::format("{}({}) {{\n{}  int64_t n[{}];\n  {}_sizes(dims, n);\n{}}}\n\n", head,
                             run_parameters(options), unused(options), source.sizes.entries(),
                             options.name, source.body);
  }
  return out + fmt::format("{}({}) {{\n{}{}}}\n\n", head, run_parameters(options), unused(options),
                           source.body);
}

/// Files for one kind of machine say so where they are compiled for another.
std::string machine_check(const COptions& options) {
  if (options.machine.empty()) return "";
  return fmt::format(
      "#if !defined({})\n#error \"{} was generated for another machine: compile the model again "
      "with "
      "quantc --target portable\"\n#endif\n",
      options.machine, options.name);
}

/// The beginning of a source file.
std::string prelude(const COptions& options) {
  const std::string& name = options.name;
  return fmt::format(
      "/* {0}: generated by quantc. */\n{1}"
      "#if defined(__GNUC__) && !defined(__clang__)\n"
      "#pragma GCC optimize({2}\"fp-contract=off\")\n"
      "#elif defined(__clang__)\n"
      "#pragma STDC FP_CONTRACT OFF\n"
      "#endif\n"
      "#include \"{0}.h\"\n\n#include <string.h>\n\n",
      name, machine_check(options),
      // With -O2 gcc turns few loops into vectors; code for a target is to be fast with plain
      // options.
      options.machine.empty() ? "" : "\"O3\", ");
}

/// The kernels, and what functions of layers need.
std::string kernels_prelude(const std::string& stem) {
  return fmt::format(
      "#include \"{}_kernels.h\"\n\n"
      "#if defined(__GNUC__)\n#define QC_NOINLINE __attribute__((noinline))\n"
      "#else\n#define QC_NOINLINE\n#endif\n\n",
      stem);
}

std::string weights_declaration(const COptions& options, int64_t bytes) {
  if (bytes == 0 || options.weights == WeightForm::file) return "";
  const bool literal = options.weights == WeightForm::literal;
  return fmt::format("_Alignas(64) extern const unsigned char {}_weights[{}]{};\n\n", options.name,
                     literal ? (bytes + 2047) / 2048 : bytes, literal ? "[2048]" : "");
}

/// The function of a part in a file of its own.
std::string part_declaration(const COptions& options, const Target& target) {
  return fmt::format("QC_HIDDEN void {}_part({});\n", part_stem(options, target),
                     run_parameters(options));
}
constexpr std::string_view kHidden =
    "#if defined(__GNUC__)\n#define QC_HIDDEN __attribute__((visibility(\"hidden\")))\n"
    "#else\n#define QC_HIDDEN\n#endif\n\n";

/// Takes the first part that the processor can run.
std::string choice_of_part(const Module& module, const COptions& options) {
  std::string out;
  for (const Module::Part& part : module.parts) {
    const std::string needed = processor_has(part.target);
    out += out.empty() ? "  " : "  else ";
    if (!needed.empty()) out += fmt::format("if ({}) ", needed);
    out += fmt::format("{}_part({});\n", part_stem(options, part.target), run_arguments(options));
  }
  return out;
}

}  // namespace

std::string part_stem(const COptions& options, const Target& target) {
  std::string out = options.name + "_" + target.name;
  std::replace(out.begin(), out.end(), '-', '_');
  return out;
}

SourceText part_text(const Module::Part& part, const COptions& options,
                     const WeightMap& weight_map) {
  const std::string stem = part_stem(options, part.target);
  Source source(options, weight_map, part.program);
  source.print();
  const bool free = !part.program.dims.empty();
  std::string out = prelude(options) + kernels_prelude(stem) +
                    (free ? std::string(size_functions()) : "") + source.instances +
                    std::string(kHidden) + part_declaration(options, part.target) +
                    steps_text(source, options, fmt::format("void {}_part", stem));
  if (!part.target.macro.empty()) out += "QK_TARGET_END\n";
  return {std::move(out), source.sizes.entries()};
}

SourceText source_text(const Module& module, const COptions& options, const WeightMap& weight_map) {
  const std::string& name = options.name;
  const std::string upper = c_upper(name);
  const Program& program = module.program();
  const int64_t weight_bytes = weight_map.bytes;
  const bool several = module.parts.size() > 1, free = !program.dims.empty();
  // The steps are called in a function that has all pointers, null where there are none.
  const bool all = several || free;
  Source source(options, weight_map, program);
  std::string steps, body;
  if (several) {
    body = choice_of_part(module, options);
  } else {
    source.print();
    body = free ? fmt::format("  {}_steps({});\n", name, run_arguments(options)) : source.body;
    if (free) steps = steps_text(source, options, fmt::format("static void {}_steps", name));
  }
  const bool state = program.state_bytes > 0, file = options.weights == WeightForm::file;
  const bool weights = weight_bytes > 0;
  std::string out = prelude(options) + (several ? std::string(kHidden) : kernels_prelude(name)) +
                    weights_declaration(options, weight_bytes);
  if (free) out += std::string(size_functions());
  out += source.instances + steps;
  const Target& target = module.parts.back().target;
  if (several) {
    for (const Module::Part& part : module.parts) out += part_declaration(options, part.target);
    out += '\n';
  } else if (!target.macro.empty()) {
    out += "QK_TARGET_END\n\n";
  }
  if (free) out += arena_text(module, options);
  out += fmt::format("int {0}_invoke_args(const {0}_args *args) {{\n", name);
  if (const std::string needed = processor_has(target); !needed.empty())
    out += fmt::format("  if (!({})) return {}_BAD_PROCESSOR;\n", needed, upper);
  out += "  if (args == NULL) return " + upper + "_NULL_POINTER;\n";
  if (free) {
    out += fmt::format(
        "  const int64_t *const dims = args->dims;\n"
        "  if (dims == NULL) return {0}_NULL_POINTER;\n  if ({1}) return {0}_BAD_SIZE;\n",
        upper, bad_sizes(program));
  } else if (all) {
    out += "  const int64_t *const dims = NULL;\n";
  }
  auto aligned = [&](const char* pointer) {
    return fmt::format("  if ((uintptr_t){} % {}_ARENA_ALIGN != 0) return {}_MISALIGNED;\n",
                       pointer, upper, upper);
  };
  auto not_null = [&](const std::string& pointer) {
    return fmt::format("  if ({} == NULL) return {}_NULL_POINTER;\n", pointer, upper);
  };
  if (all || !program.inputs.empty()) {
    out += "  const void *const *const inputs = args->inputs;\n" + not_null("inputs");
    for (size_t i = 0; i < program.inputs.size(); ++i)
      out += not_null(fmt::format("inputs[{}]", i));
  }
  if (all || !program.outputs.empty()) {
    out += "  void *const *const outputs = args->outputs;\n" + not_null("outputs");
    for (size_t i = 0; i < program.outputs.size(); ++i)
      out += not_null(fmt::format("outputs[{}]", i));
  }
  if (program.arena_bytes > 0) {
    out += "  unsigned char *const arena = (unsigned char *)args->arena;\n" + not_null("arena") +
           aligned("arena");
  } else if (all) {
    out += "  unsigned char *const arena = NULL;\n";
  }
  if (state) {
    out += "  unsigned char *const state = (unsigned char *)args->state;\n" + not_null("state") +
           aligned("state");
  } else if (all) {
    out += "  unsigned char *const state = NULL;\n";
  }
  if (weights) {
    out += file ? "  const unsigned char *const weights = (const unsigned char *)args->weights;\n" +
                      not_null("weights") + aligned("weights")
                : fmt::format(
                      "  const unsigned char *const weights = (const unsigned char *)(const void "
                      "*){}_weights;\n",
                      name);
  } else if (all) {
    out += "  const unsigned char *const weights = NULL;\n";
  }
  const char* unused[] = {"inputs", "arena", "weights"};
  const bool declared[] = {!program.inputs.empty(), program.arena_bytes > 0, weights};
  for (int i = 0; i < 3; ++i) {
    if (declared[i]) out += fmt::format("  (void){};\n", unused[i]);
  }
  out += body + fmt::format("  return {}_OK;\n}}\n\n", upper);
  out += fmt::format(
      "int {0}_invoke(const void *const inputs[], void *const outputs[], void *arena{1}{2}{3}{7}) "
      "{{\n"
      "  const {0}_args args = {{inputs, outputs, arena, {4}, {5}, {6}{8}}};\n"
      "  return {0}_invoke_args(&args);\n}}\n",
      name, state ? ", void *state" : "", file ? ", const void *weights" : "",
      free ? ", const int64_t *dims" : "", state ? "state" : "NULL", file ? "weights" : "NULL",
      free ? "dims" : "NULL", threads_parameters(options),
      options.threads ? ", parallel_for, threads" : "");
  if (state) out += "\n" + reset_text(program, options, weight_map);
  if (file) {
    out += fmt::format(
        "\nint {0}_check_weights(const void *weights) {{\n"
        "  const unsigned char *p = (const unsigned char *)weights;\n"
        "  uint64_t hash = UINT64_C(0xcbf29ce484222325);\n"
        "  for (size_t i = 0; i < {1}_WEIGHT_BYTES; i += 8) {{\n"
        "    uint64_t word = 0;\n"
        "    for (unsigned k = 0; k < 8; ++k) word |= (uint64_t)p[i + k] << (8 * k);\n"
        "    hash = (hash ^ word) * UINT64_C(0x100000001b3);\n"
        "  }}\n"
        "  return hash == {1}_WEIGHT_HASH;\n}}\n",
        name, upper);
  }
  return {std::move(out), source.sizes.entries()};
}

}  // namespace qc
