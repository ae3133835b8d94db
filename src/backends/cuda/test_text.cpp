// The test program of the generated project: runs recorded inputs, compares every bit, measures.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/common/test_program.h"
#include "backends/cuda/text.h"

namespace qc::cuda {
namespace {

Result<Ok> append(FileSet& files, const std::string& text) {
  return files.append(text.data(), text.size());
}

/// Reads the weights where they are a file.
std::string load_text(const ProjectOptions& options) {
  if (options.weights != WeightStorage::file) return "";
  return fmt::format(
      "  FILE *f = fopen(\"{0}_weights.bin\", \"rb\");\n"
      "  if (f == NULL || fread(weights, 1, {1}_WEIGHT_BYTES, f) != {1}_WEIGHT_BYTES || "
      "!{0}_check_weights(weights)) {{\n"
      "    printf(\"{0}: {0}_weights.bin is missing or of another model\\n\");\n    return 1;\n"
      "  }}\n  fclose(f);\n  config.host_weights = weights;\n",
      options.name, c_upper(options.name));
}

std::string main_text(const Project& project, const std::string& compared) {
  const ProjectOptions& options = project.options;
  const Program& program = project.module.program();
  const bool free = !program.dims.empty();
  std::vector<int64_t> sizes;
  for (const FreeDim& d : program.dims) sizes.push_back(d.max);
  return fmt::format(
      "\nstatic int failed({0}_handle *handle, int code) {{\n"
      "  printf(\"{0}: failed with code %d: %s\\n\", code, {0}_error_text(handle));\n"
      "  {0}_destroy(handle);\n  return 1;\n}}\n\n"
      "int main(int argc, char **argv) {{\n"
      "  const void *inputs[] = {{{2}}};\n  void *outputs[] = {{{3}}};\n{6}"
      "  {0}_config config;\n  memset(&config, 0, sizeof config);\n{7}"
      "  {0}_handle *handle;\n"
      "  int different = 0, code = {0}_create(&config, &handle);\n"
      "  if (code == {1}_OK) code = {0}_run_host(handle, {8}inputs, outputs);\n"
      "  if (code != {1}_OK) return failed(handle, code);\n"
      "{4}"
      "  if (argc > 1) {{\n"
      "    double best = 1e30;\n"
      "    for (int i = 0; i < atoi(argv[1]); ++i) {{\n"
      "      struct timespec a, b;\n"
      "      clock_gettime(CLOCK_MONOTONIC, &a);\n"
      "      code = {0}_run_host(handle, {8}inputs, outputs);\n"
      "      clock_gettime(CLOCK_MONOTONIC, &b);\n"
      "      if (code != {1}_OK) return failed(handle, code);\n"
      "      double us = (double)(b.tv_sec - a.tv_sec) * 1e6 + (double)(b.tv_nsec - a.tv_nsec) "
      "* 1e-3;\n"
      "      if (us < best) best = us;\n    }}\n"
      "    printf(\"{0}: best run %.2f us\\n\", best);\n  }}\n"
      "  printf(\"{0}: %s, arena %ld bytes, weights %ld bytes\\n\", different ? \"FAILED\" : "
      "\"{5}\",\n"
      "         (long){1}_DEVICE_ARENA_BYTES, (long){1}_WEIGHT_BYTES);\n"
      "  {0}_destroy(handle);\n  return different;\n}}\n",
      options.name, c_upper(options.name), numbered("input", program.inputs.size()),
      numbered("output", program.outputs.size()), compared, project.vectors ? "bits equal" : "ran",
      free ? fmt::format("  const int64_t dims[] = {{{}}};\n",
                         fmt::join(project.vectors ? project.vectors->dims : sizes, ", "))
           : "",
      load_text(options), free ? "dims, " : "");
}

}  // namespace

Result<Ok> write_test(const Project& project, FileSet& files) {
  const ProjectOptions& options = project.options;
  const Program& program = project.module.program();
  QC_TRY(files.begin(options.name + "_test.c"));
  QC_TRY(append(files,
                fmt::format("/* Test of {0}: recorded inputs must give the recorded outputs, bit "
                            "for bit. With an argument N\n * it also times the best of N runs, "
                            "copies included. */\n"
                            "#define _POSIX_C_SOURCE 199309L\n"
                            "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
                            "#include <time.h>\n\n#include \"{0}.h\"\n\n",
                            options.name)));
  std::string text, compared;
  if (project.vectors) {
    QC_TRY(write_recorded(files, *project.vectors));
    compared = compare_text(options, *project.vectors, !program.dims.empty());
  } else {
    text += arrays_text(options, "input", program.inputs.size());
  }
  text += arrays_text(options, "output", program.outputs.size());
  if (options.weights == WeightStorage::file)
    text += fmt::format("_Alignas(64) static unsigned char weights[{}_WEIGHT_BYTES + 1];\n",
                        c_upper(options.name));
  QC_TRY(append(files, text + main_text(project, compared)));
  return files.end();
}

}  // namespace qc::cuda
