// Gathers the sources of the kernels a program calls into one header.
#include <fmt/format.h>

#include <set>

#include "backends/c/text.h"
#include "kernels/kernels.h"

namespace qc {
namespace {

/// Appends a file with its quoted includes replaced by their text; headers once each.
void append(std::string_view path, std::set<std::string>& headers, std::string& out) {
  const std::string_view text = kernel_source(path);
  QC_CHECK(!text.empty(), "a kernel includes a file that is not embedded");
  const std::string folder(path.substr(0, path.rfind('/') + 1));
  size_t at = 0;
  while (at < text.size()) {
    size_t end = text.find('\n', at);
    if (end == std::string_view::npos) end = text.size();
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (line.starts_with("#include \"")) {
      std::string target(line.substr(10, line.find('"', 10) - 10));
      if (kernel_source(target).empty()) target.insert(0, folder);
      if (target.ends_with(".inc") || headers.insert(target).second) {
        append(target, headers, out);
      }
    } else {
      out += line;
      out += '\n';
    }
  }
}

}  // namespace

std::string kernels_text(const Module::Part& part, const COptions& options) {
  std::set<std::string> files;
  for (const Program& program : part.shapes.programs) {
    for_each_step(program.steps, [&](const Step& s) {
      if (const Call* c = s.call()) files.insert(c->body->file);
    });
  }
  std::set<std::string> headers;
  std::string out = fmt::format("/* Kernels of {}. */\n", options.name);
  if (!part.target.macro.empty()) {
    out += fmt::format("#define {} 1\n", part.target.macro);
    append("kernels/common/target.h", headers, out);
  }
  for (const std::string& file : files) append(file, headers, out);
  return out;
}

}  // namespace qc
