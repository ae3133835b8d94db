// Prints NAME.cu: the kernels of each program, what describes the model, the functions a caller
// sees. What these do stands in runtime/cuda/session.h.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "backends/common/template.h"
#include "backends/cuda/source.h"
#include "backends/cuda/templates.h"
#include "backends/cuda/text.h"
#include "program/index_record.h"

namespace qc::cuda {
namespace {

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
std::string program_text(const Project& project, size_t index) {
  const Module::TargetProgram& compiled = project.module.programs[index];
  const Program& program = compiled.program;
  const WeightMap device = map_device_weights(program);
  const bool several = project.module.programs.size() > 1;
  Source source(project.options, project.weights, device, program,
                several ? capability(compiled.target) : 0);
  source.print();
  const size_t entries = source.sizes.entries();
  return expand(
      templates::program_cu,
      {{"index", index},
       {"target", compiled.target.name},
       {"instances", source.instances},
       {"sizes", entries ? source.sizes.definition("sizes_of") : ""},
       {"bases",
        expand(templates::bases_cu, {{"entries", entries ? fmt::to_string(entries) : ""}})},
       {"launches", source.body},
       {"copies", TemplateRows{{"copy", "statements"},
                               {{"upload", source.uploads}, {"download", source.downloads}}}},
       {"ranges", extents_text(ranges_between(project.weights, device))},
       {"initial", extents_text(initial_ranges(program, device))}});
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

/// What the table of programs says of each.
TemplateRows program_rows(const Project& project) {
  TemplateRows out{{"i", "capability", "only", "arena", "device_weights", "host", "state_bytes",
                    "launches", "ranges", "states"},
                   {}};
  for (size_t i = 0; i < project.module.programs.size(); ++i) {
    const Module::TargetProgram& compiled = project.module.programs[i];
    const WeightMap device = map_device_weights(compiled.program);
    out.rows.push_back({fmt::to_string(i), fmt::to_string(capability(compiled.target)),
                        compiled.target.only ? "1" : "0",
                        fmt::to_string(compiled.program.arena_bytes), fmt::to_string(device.bytes),
                        fmt::to_string(host_bytes(compiled.program)),
                        fmt::to_string(compiled.program.state_bytes),
                        fmt::to_string(launches(compiled.program.steps)),
                        fmt::to_string(ranges_between(project.weights, device).size()),
                        fmt::to_string(compiled.program.states.size())});
  }
  return out;
}

/// What the checks of indices say.
TemplateRows check_rows(const Program& program) {
  TemplateRows out{{"number", "message"}, {}};
  if (program.index_record < 0) return out;
  for (const NumberedCheck& check : numbered_checks(program))
    out.rows.push_back({fmt::to_string(check.number), c_string(check.text())});
  return out;
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
  for (const Module::TargetProgram& compiled : module.programs)
    out = std::max(out, map_device_weights(compiled.program).bytes);
  return out;
}

std::string source_text(const Project& project) {
  const ProjectOptions& options = project.options;
  const Program& program = project.module.program();
  const int64_t bytes = project.weights.bytes;
  const bool file = options.weights == WeightStorage::file;
  const bool literal = options.weights == WeightStorage::literal;
  const bool own = bytes > 0 && !file, free = !program.dims.empty();
  std::string programs;
  for (size_t i = 0; i < project.module.programs.size(); ++i) programs += program_text(project, i);
  size_t warm_count = 0;
  const std::string warm = warm_sizes(project, warm_count);
  return expand(templates::model_cu,
                {{"name", options.name},
                 {"own_weights", own},
                 {"weight_rows", literal ? (bytes + 2047) / 2048 : bytes},
                 {"literal", literal},
                 {"free", free},
                 {"size_functions", size_functions()},
                 {"size_error", free ? size_error_text(program, options) : ""},
                 {"programs", programs},
                 {"program_rows", program_rows(project)},
                 {"record", program.index_record >= 0},
                 {"checks", check_rows(program)},
                 {"index_texts", program.index_record < 0 ? "NULL" : options.name + "_check_text"},
                 {"warm", warm},
                 {"warm_count", warm_count},
                 {"program_count", project.module.programs.size()},
                 {"inputs", program.inputs.size()},
                 {"outputs", program.outputs.size()},
                 {"dims", program.dims.size()},
                 {"dim_room", std::max<size_t>(program.dims.size(), 1)},
                 {"size_check", free ? options.name + "_size_error" : "NULL"},
                 {"weights", own ? options.name + "_weights" : "NULL"},
                 {"weight_bytes", bytes},
                 {"weight_hash", fmt::format("{:016x}", project.weight_hash)},
                 {"state", program.state_bytes > 0},
                 {"file", file},
                 {"weight_check", file ? weight_check_text(options) : ""}});
}

}  // namespace qc::cuda
