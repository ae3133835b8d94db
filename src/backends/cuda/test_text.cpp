// The test program of the generated project: runs recorded inputs, compares every bit, measures.
#include <fmt/format.h>

#include "backends/common/test_program.h"
#include "backends/cuda/text.h"

namespace qc::cuda {
namespace {

Result<Ok> append(FileSet& files, const std::string& text) {
  return files.append(text.data(), text.size());
}

}  // namespace

Result<Ok> write_test(const Program& program, const ProjectOptions& options, const Vectors* vectors,
                      FileSet& files) {
  const std::string& name = options.name;
  const std::string upper = c_upper(name);
  QC_TRY(files.begin(name + "_test.c"));
  QC_TRY(append(files,
                fmt::format("/* Test of {0}: recorded inputs must give the recorded outputs, bit "
                            "for bit. With an argument N\n * it also times the best of N runs, "
                            "copies included. */\n"
                            "#define _POSIX_C_SOURCE 199309L\n"
                            "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
                            "#include <time.h>\n\n#include \"{0}.h\"\n\n",
                            name)));
  Vectors zeros;
  for (const Port& port : program.inputs)
    zeros.inputs.emplace_back(port.type.dtype, static_dims(port.type.shape));
  QC_TRY(write_recorded(files, vectors ? *vectors : zeros));
  const std::string text = arrays_text(options, "output", program.outputs.size());
  const std::string compared = vectors ? compare_text(options, *vectors, false) : "";
  QC_TRY(append(files, text));
  QC_TRY(append(
      files,
      fmt::format(
          "\nstatic int failed({0}_handle *handle, int code) {{\n"
          "  printf(\"{0}: failed with code %d: %s\\n\", code, {0}_error_text(handle));\n"
          "  {0}_destroy(handle);\n  return 1;\n}}\n\n"
          "int main(int argc, char **argv) {{\n"
          "  const void *inputs[] = {{{2}}};\n  void *outputs[] = {{{3}}};\n"
          "  {0}_handle *handle;\n"
          "  int different = 0, code = {0}_create(NULL, &handle);\n"
          "  if (code == {1}_OK) code = {0}_run_host(handle, inputs, outputs);\n"
          "  if (code != {1}_OK) return failed(handle, code);\n"
          "{4}"
          "  if (argc > 1) {{\n"
          "    double best = 1e30;\n"
          "    for (int i = 0; i < atoi(argv[1]); ++i) {{\n"
          "      struct timespec a, b;\n"
          "      clock_gettime(CLOCK_MONOTONIC, &a);\n"
          "      code = {0}_run_host(handle, inputs, outputs);\n"
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
          name, upper, numbered("input", program.inputs.size()),
          numbered("output", program.outputs.size()), compared, vectors ? "bits equal" : "ran")));
  return files.end();
}

}  // namespace qc::cuda
