// Prints what says which sizes the runs of a program take, and how much arena.
#include <fmt/format.h>

#include <algorithm>

#include "backends/common/size_table.h"
#include "backends/common/text.h"
#include "ir/guard_text.h"

namespace qc {
namespace {

/// A dimension as a caller knows it: its name and an input that has it.
std::string dim_name(const Program& program, const FreeDim& dim) {
  for (const Port& input : program.inputs) {
    const Dims& shape = input.type.shape;
    const auto at = std::find(shape.begin(), shape.end(), Dim::symbol(dim.name));
    if (at != shape.end())
      return fmt::format("{} (axis {} of {})", dim.name, at - shape.begin(), input.name);
  }
  return dim.name;
}

}  // namespace

std::string size_error_text(const Program& program, const ProjectOptions& options) {
  const SizeTable sizes(program);
  std::string out =
      fmt::format("const char *{}_size_error(const int64_t *dims) {{\n", options.name);
  const auto refuse = [&](const std::string& when, const std::string& text) {
    out += fmt::format("  if ({}) return {};\n", when, c_string(text));
  };
  refuse("dims == NULL", "dims is null");
  for (size_t i = 0; i < program.dims.size(); ++i) {
    const FreeDim& d = program.dims[i];
    std::string when = fmt::format("dims[{0}] < {1} || dims[{0}] > {2}", i, d.min, d.max);
    std::string text = fmt::format("{} must be {} to {}", dim_name(program, d), d.min, d.max);
    if (d.step > 1) {
      when += fmt::format(" || (dims[{}] - {}) % {} != 0", i, d.min, d.step);
      text += fmt::format(" in steps of {}", d.step);
    }
    refuse(when, text);
  }
  for (const DimGuard& g : program.guards) {
    refuse(fmt::format("!({} {} {})", sizes.expression(g.left), g.relation(),
                       sizes.expression(g.right)),
           "the model holds only where " + words(g));
  }
  return out + "  return NULL;\n}\n\n";
}

namespace {

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
  if (!program.arena_symbols.empty())
    out += fmt::format("    int64_t n[{}];\n", program.arena_symbols.size());
  for (size_t i = 0; i < program.arena_symbols.size(); ++i)
    out += fmt::format("    n[{}] = {};\n", i, sizes.expression(program.arena_symbols[i].value));
  for (const auto& [end, more] : ends)
    out += fmt::format("    bytes = qc_max(bytes, {});\n", sizes.expression(end + Dim(more)));
  return out + "  }\n";
}

}  // namespace

std::string arena_bytes_text(const Module& module, const ProjectOptions& options) {
  std::string body;
  for (const Module::TargetProgram& compiled : module.programs)
    body += reach_text(compiled.program);
  return fmt::format(
      "size_t {0}_arena_bytes(const int64_t *dims) {{\n  int64_t bytes = 1;\n"
      "  if ({0}_size_error(dims) != NULL) return 0;\n{1}  return (size_t)bytes;\n}}\n\n",
      options.name, body);
}

}  // namespace qc
