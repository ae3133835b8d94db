#include "backends/common/test_program.h"

#include <fmt/format.h>

#include "backends/common/text.h"

namespace qc {

std::string numbered(const char* name, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += fmt::format("{}{}_{}", i ? ", " : "", name, i);
  return out.empty() ? "NULL" : out;
}

Result<Ok> write_recorded(FileSet& files, const Vectors& vectors) {
  for (size_t i = 0; i < vectors.inputs.size(); ++i)
    QC_TRY(write_array(files, fmt::format("input_{}", i), vectors.inputs[i]));
  for (size_t i = 0; i < vectors.outputs.size(); ++i)
    QC_TRY(write_array(files, fmt::format("expected_{}", i), vectors.outputs[i]));
  return Ok{};
}

std::string arrays_text(const ProjectOptions& options, const char* name, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) {
    out += fmt::format("_Alignas(64) static unsigned char {0}_{1}[{2}_{3}_{1}_BYTES + 1];\n", name,
                       i, c_upper(options.name), c_upper(name));
  }
  return out;
}

std::string compare_text(const ProjectOptions& options, const Vectors& vectors, bool sized) {
  std::string out;
  for (size_t i = 0; i < vectors.outputs.size(); ++i) {
    out += fmt::format(
        "  if (memcmp(output_{0}, expected_{0}, {1}) != 0) {{\n"
        "    printf(\"{2}: output {0} differs from the reference\\n\");\n    different = 1;\n  "
        "}}\n",
        i,
        sized ? std::to_string(vectors.outputs[i].bytes().size())
              : fmt::format("{}_OUTPUT_{}_BYTES", c_upper(options.name), i),
        options.name);
  }
  return out;
}

}  // namespace qc
