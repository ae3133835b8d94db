// Writes the sources of the kernels that a program calls into one header.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "backends/common/text.h"
#include "kernels/kernels.h"
#include "program/floats.h"

namespace qc {

std::string kernels_text(std::span<const Module::TargetProgram> programs,
                         const ProjectOptions& options, std::span<const std::string_view> headers) {
  std::set<std::string> symbols;
  bool floats = false;
  const bool vectorized = std::find(headers.begin(), headers.end(),
                                    std::string_view("kernels/common/vectors.h")) != headers.end();
  for (const Module::TargetProgram& compiled : programs) {
    floats = floats || !float_steps(compiled.program).empty();
    for_each_step(compiled.program.steps, [&](const Step& s) {
      if (const Call* c = s.call()) symbols.insert(c->body->symbol);
      const auto* parallel = std::get_if<ParallelStep>(&s.op);
      if (parallel && parallel->call.body->units) {
        const bool vectors = vectorized && parallel->call.body->vector_width > 0;
        for (const char* what :
             vectors ? std::vector{"_advance", "_spans"} : std::vector{"_subrange"})
          symbols.insert(parallel->call.body->split + what);
        if (parallel->units == 0) symbols.insert(parallel->call.body->split + "_units");
      }
    });
  }
  std::string out = fmt::format("/* Kernels of {}. */\n", options.name);
  // Kernels that choose between floats and integers when they run then have only the integers.
  if (!floats) out += "#define QK_INTEGER_ONLY 1\n";
  if (programs.front().program.dot == DotStep::mul_add) {
    out +=
        "/* A step of a float dot product is a rounded product, then a rounded sum. */\n"
        "#define QN_DOT_MUL_ADD 1\n";
  }
  const Target& target = programs.front().target;
  if (!target.macro.empty()) {
    out += fmt::format("#define {} 1\n", target.macro);
    out += embedded_header("kernels/common/target.h");
  }
  for (const std::string_view header : headers) out += embedded_header(header);
  return out + kernel_source(std::vector<std::string>(symbols.begin(), symbols.end()));
}

}  // namespace qc
