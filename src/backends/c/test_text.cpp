// The test program of the generated project: runs recorded inputs, compares every bit, measures.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/c/text.h"
#include "backends/common/test_program.h"

namespace qc {
Result<Ok> write_test(const Module& module, const COptions& options, const Vectors* vectors,
                      FileSet& files) {
  const Program& program = module.program();
  const bool free = !program.dims.empty();
  const std::string& name = options.name;
  const std::string upper = c_upper(name);
  const bool state = program.state_bytes > 0, file = options.weights == WeightStorage::file;
  QC_TRY(files.begin(name + "_test.c"));
  std::string text = fmt::format(
      "/* Test of {0}: recorded inputs must give the recorded outputs, bit for bit. With an "
      "argument N\n"
      " * it also times the best of N runs. */\n"
      "#define _POSIX_C_SOURCE 199309L\n"
      "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <time.h>\n"
      "#if defined(__unix__) || defined(__APPLE__)\n#include <unistd.h>\n#endif\n\n"
      "#include \"{0}.h\"\n\n"
      "#if defined(_POSIX_TIMERS) && _POSIX_TIMERS > 0\n"
      "static double microseconds(void) {{\n"
      "  struct timespec t;\n"
      "  clock_gettime(CLOCK_MONOTONIC, &t);\n"
      "  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;\n"
      "}}\n"
      "#else /* the processor time of C's own library, which is coarse */\n"
      "static double microseconds(void) {{ return (double)clock() * (1e6 / CLOCKS_PER_SEC); }}\n"
      "#endif\n\n",
      name);
  QC_TRY(files.append(text.data(), text.size()));
  if (vectors) QC_TRY(write_recorded(files, *vectors));
  text = "\n";
  if (!vectors) text += arrays_text(options, "input", program.inputs.size());
  text += arrays_text(options, "output", program.outputs.size());
  text += fmt::format(
      "_Alignas({0}_ARENA_ALIGN) static unsigned char arena[{0}_ARENA_BYTES + 1];\n", upper);
  if (state)
    text += fmt::format("_Alignas({0}_ARENA_ALIGN) static unsigned char state[{0}_STATE_BYTES];\n",
                        upper);
  if (file)
    text += fmt::format(
        "_Alignas({0}_ARENA_ALIGN) static unsigned char weights[{0}_WEIGHT_BYTES + 1];\n", upper);
  if (options.threads) {
    text +=
        "\n/* Three ranges, the last first: the order is of no matter. */\n"
        "static void is_split(void *threads, int32_t units,\n"
        "                     void (*part)(const void *call, int32_t first, int32_t last),\n"
        "                     const void *call) {\n"
        "  (void)threads;\n"
        "  for (int32_t i = 2; i >= 0; --i) {\n"
        "    part(call, (int32_t)((int64_t)units * i / 3), (int32_t)((int64_t)units * (i + 1) / "
        "3));\n"
        "  }\n}\n";
  }
  text += "\nint main(int argc, char **argv) {\n";
  text += fmt::format("  const void *inputs[] = {{{}}};\n  void *outputs[] = {{{}}};\n",
                      numbered("input", program.inputs.size()),
                      numbered("output", program.outputs.size()));
  if (file) {
    text += fmt::format(
        "  FILE *f = fopen(\"{0}_weights.bin\", \"rb\");\n"
        "  if (f == NULL || fread(weights, 1, {1}_WEIGHT_BYTES, f) != {1}_WEIGHT_BYTES || "
        "!{0}_check_weights(weights)) {{\n"
        "    printf(\"{0}: {0}_weights.bin is missing or of another model\\n\");\n    return 1;\n  "
        "}}\n"
        "  fclose(f);\n",
        name, upper);
  }
  if (free) {
    std::vector<int64_t> sizes;
    for (const FreeDim& d : program.dims) sizes.push_back(d.max);
    text += fmt::format("  const int64_t dims[] = {{{}}};\n",
                        fmt::join(vectors ? vectors->dims : sizes, ", "));
  }
  text += fmt::format("  const {0}_args args = {{inputs, outputs, arena, {1}, {2}, {3}{4}}};\n",
                      name, state ? "state" : "NULL", file ? "weights" : "NULL",
                      free ? "dims" : "NULL", options.threads ? ", is_split, NULL" : "");
  if (state) text += fmt::format("  {}_reset(state{});\n", name, file ? ", weights" : "");
  text += fmt::format(
      "  int code = {0}_invoke_args(&args);\n"
      "  if (code != {1}_OK) {{\n    printf(\"{0}: failed with code %d\\n\", code);\n    return "
      "1;\n  }}\n"
      "  int different = 0;\n",
      name, upper);
  if (vectors) text += compare_text(options, *vectors, free);
  text += fmt::format(
      "  if (argc > 1) {{\n"
      "    double best = 1e30;\n"
      "    for (int i = 0; i < atoi(argv[1]); ++i) {{\n"
      "      const double start = microseconds();\n"
      "      {0}_invoke_args(&args);\n"
      "      const double us = microseconds() - start;\n"
      "      if (us < best) best = us;\n"
      "    }}\n"
      "    printf(\"{0}: best run %.2f us\\n\", best);\n"
      "  }}\n"
      "  printf(\"{0}: %s, arena %ld bytes, weights %ld bytes\\n\", different ? \"FAILED\" : "
      "\"{1}\",\n"
      "         (long){2}_ARENA_BYTES, (long){2}_WEIGHT_BYTES);\n"
      "  return different;\n}}\n",
      name, vectors ? "bits equal" : "ran", upper);
  QC_TRY(files.append(text.data(), text.size()));
  return files.end();
}

}  // namespace qc
