// Prints the functions a caller sees: checks of what it passes, the call, the wrappers.
#include <fmt/format.h>

#include <algorithm>

#include "backends/c/source.h"
#include "backends/c/templates.h"
#include "backends/c/text.h"
#include "backends/common/template.h"
#include "kernels/kernels.h"
#include "program/index_record.h"

namespace qc {
namespace {

/// What a reset copies: bytes of the weights into the state.
TemplateRows state_rows(const Program& program, const COptions& options, const WeightMap& weights) {
  TemplateRows out{{"to", "own_base", "from", "bytes"}, {}};
  const bool file = options.weights == WeightStorage::file;
  for (const Port& port : program.states) {
    const Buffer& b = program.buffers[static_cast<size_t>(port.buffer)];
    out.rows.push_back({fmt::to_string(b.offset.value()), file ? "" : options.name + "_weights",
                        fmt::to_string(weights.offsets.at(b.constant)), fmt::to_string(b.size())});
  }
  return out;
}

/// Whether compilers have a word to ask the target's processors for what they have.
bool compilers_ask(const Target& target) { return target.machine == "__x86_64__"; }

/// Whether the processor has the instructions of a target; empty where all have.
std::string processor_has(const Target& target) {
  std::string all;
  for (const std::string& feature : target.required) {
    if (!all.empty()) all += " && ";
    all += compilers_ask(target) ? fmt::format("__builtin_cpu_supports(\"{}\")", feature)
                                 : fmt::format("qk_processor_has_{}()", feature);
  }
  return all;
}

/// The functions that processor_has needs for programs of the module.
std::string processor_functions(const Module& module) {
  for (const Module::TargetProgram& compiled : module.programs) {
    if (!compiled.target.required.empty() && !compilers_ask(compiled.target))
      return std::string(embedded_header("kernels/common/processor.h"));
  }
  return "";
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

/// The steps as a function of their own, `head` being its beginning.
std::string steps_text(const Source& source, const COptions& options, const std::string& head) {
  const size_t entries = source.sizes.entries();
  return expand(templates::steps_c,
                {{"sizes", entries ? source.sizes.definition(options.name + "_sizes") : ""},
                 {"head", head},
                 {"parameters", run_parameters(options)},
                 {"threads", options.threads},
                 {"entries", entries ? fmt::to_string(entries) : ""},
                 {"name", options.name},
                 {"body", source.body}});
}

std::string prelude(const COptions& options) {
  return expand(templates::prelude_c,
                {{"name", options.name},
                 {"machine", options.machine},
                 {"fast", !options.machine.empty() && options.specialise != Specialise::size}});
}

std::string kernels_prelude(const std::string& stem) {
  return expand(templates::kernels_c, {{"stem", stem}});
}

/// The programs, of which the first that the processor can run is taken.
TemplateRows program_rows(const Module& module, const COptions& options) {
  TemplateRows out{{"stem", "before"}, {}};
  for (const Module::TargetProgram& compiled : module.programs) {
    const std::string needed = processor_has(compiled.target);
    out.rows.push_back({program_stem(options, compiled.target),
                        fmt::format("{}{}", out.rows.empty() ? "" : "else ",
                                    needed.empty() ? "" : fmt::format("if ({}) ", needed))});
  }
  return out;
}

std::string index_error_text(const Program& program, const COptions& options) {
  if (options.index_checks.empty()) return "";
  const SizeTable sizes(program);
  TemplateRows checks{{"count", "type", "input", "least", "most", "message"}, {}};
  for (const IndexCheck& check : options.index_checks) {
    const Port& input = program.inputs[check.input];
    const std::string message =
        fmt::format("input '{}', layer '{}': an index is not in {} to {}", input.name, check.layer,
                    check.least.str(), check.most.str());
    checks.rows.push_back({sizes.expression(product(input.type.shape)),
                           std::string(c_type(input.type.dtype)), fmt::to_string(check.input),
                           sizes.expression(check.least), sizes.expression(check.most),
                           c_string(message)});
  }
  return expand(
      templates::index_error_c,
      {{"name", options.name}, {"free", !program.dims.empty()}, {"checks", std::move(checks)}});
}

/// What a run noted of an index that it computed.
TemplateRows record_rows(const Program& program) {
  TemplateRows out{{"number", "message"}, {}};
  if (program.index_record < 0) return out;
  for (const NumberedCheck& check : numbered_checks(program))
    out.rows.push_back({fmt::to_string(check.number), c_string(check.text())});
  return out;
}

/// A row for each port: its index.
TemplateRows numbers(size_t count) {
  TemplateRows out{{"i"}, {}};
  for (size_t i = 0; i < count; ++i) out.rows.push_back({fmt::to_string(i)});
  return out;
}

}  // namespace

std::string program_stem(const COptions& options, const Target& target) {
  std::string out = options.name + "_" + target.name;
  std::replace(out.begin(), out.end(), '-', '_');
  return out;
}

SourceText program_text(const Module::TargetProgram& compiled, const COptions& options,
                        const WeightMap& weight_map) {
  const std::string stem = program_stem(options, compiled.target);
  Source source(options, weight_map, compiled.program);
  source.print();
  std::string out =
      expand(templates::program_c,
             {{"prelude", prelude(options)},
              {"kernels", kernels_prelude(stem)},
              {"size_functions", compiled.program.dims.empty() ? "" : size_functions()},
              {"instances", source.instances},
              {"hidden", expand(templates::hidden_c, {})},
              {"stem", stem},
              {"parameters", run_parameters(options)},
              {"steps", steps_text(source, options, fmt::format("void {}_steps", stem))},
              {"within_target", !compiled.target.macro.empty()}});
  return {std::move(out), source.sizes.entries()};
}

SourceText source_text(const Module& module, const COptions& options, const WeightMap& weight_map) {
  const std::string& name = options.name;
  const Program& program = module.program();
  const Target& target = module.programs.back().target;
  const int64_t weight_bytes = weight_map.bytes;
  const bool several = module.programs.size() > 1, free = !program.dims.empty();
  const bool file = options.weights == WeightStorage::file, weights = weight_bytes > 0;
  const bool literal = options.weights == WeightStorage::literal;
  // The steps are called in a function that has all pointers, null where there are none.
  const bool all = several || free;
  Source source(options, weight_map, program);
  if (!several) source.print();
  const bool steps = free && !several;
  std::string out =
      expand(templates::model_c,
             {{"name", name},
              {"NAME", c_upper(name)},
              {"prelude", prelude(options)},
              {"processor_functions", processor_functions(module)},
              {"several", several},
              {"hidden", expand(templates::hidden_c, {})},
              {"kernels", kernels_prelude(name)},
              // In a single file they stand above.
              {"named_weights", !weight_map.names.empty() && !options.single_file},
              {"weight_bytes", weights && !file && weight_map.names.empty()},
              {"weight_rows", literal ? (weight_bytes + 2047) / 2048 : weight_bytes},
              {"literal", literal},
              {"free", free},
              {"all", all},
              {"size_functions", size_functions()},
              {"instances", source.instances},
              {"steps",
               steps ? steps_text(source, options, fmt::format("static void {}_steps", name)) : ""},
              {"body", source.body},
              {"programs", program_rows(module, options)},
              {"parameters", run_parameters(options)},
              {"arguments", run_arguments(options)},
              {"within_target", !target.macro.empty()},
              {"size_error", free ? size_error_text(program, options) : ""},
              {"arena_bytes", free ? arena_bytes_text(module, options) : ""},
              {"index_error", index_error_text(program, options)},
              {"record", program.index_record >= 0},
              {"recorded", record_rows(program)},
              {"needed", processor_has(target)},
              {"takes_inputs", all || !program.inputs.empty()},
              {"has_inputs", !program.inputs.empty()},
              {"inputs", numbers(program.inputs.size())},
              {"takes_outputs", all || !program.outputs.empty()},
              {"outputs", numbers(program.outputs.size())},
              {"arena", program.arena_bytes > 0},
              {"state", program.state_bytes > 0},
              {"states", state_rows(program, options, weight_map)},
              {"weights", weights},
              {"file", file},
              {"threads", options.threads},
              {"threads_parameters", threads_parameters(options)},
              {"weight_check", file ? weight_check_text(options) : ""}});
  return {std::move(out), source.sizes.entries()};
}

}  // namespace qc
